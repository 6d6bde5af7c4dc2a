package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
)

type addressService struct{ app *app.App }

var _ beckonv1connect.AddressServiceHandler = addressService{}

func (s addressService) PutAddress(ctx context.Context, r *v1.PutAddressRequest) (*v1.PutAddressResponse, error) {
	address, err := s.app.PutAddress(ctx, principalOf(ctx), app.PutAddress{
		Kind: addressKindIn(r.GetKind()), Token: r.GetToken(), Env: environmentIn(r.GetEnvironment()), Topic: r.GetTopic(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.PutAddressResponse{AccountTag: address.AccountTag, RegisterTime: timeOut(address.RegisteredAt)}, nil
}

// addressKindIn gives the word that pushes know a kind by; an unknown one is
// refused by the verb.
func addressKindIn(k v1.AddressKind) push.AddressKind {
	switch k {
	case v1.AddressKind_ADDRESS_KIND_APNS:
		return push.KindAPNs
	case v1.AddressKind_ADDRESS_KIND_FCM_TOKEN:
		return push.KindFCMToken
	case v1.AddressKind_ADDRESS_KIND_FCM_FID:
		return push.KindFCMFID
	default:
		return ""
	}
}

func environmentIn(e v1.ApnsEnvironment) push.Env {
	switch e {
	case v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX:
		return push.EnvSandbox
	case v1.ApnsEnvironment_APNS_ENVIRONMENT_PRODUCTION:
		return push.EnvProduction
	default:
		return ""
	}
}

func (s addressService) TestPush(ctx context.Context, r *v1.TestPushRequest) (*v1.TestPushResponse, error) {
	rows, err := s.app.TestPush(ctx, principalOf(ctx), r.GetInstallationId())
	if err != nil {
		return nil, err
	}
	return &v1.TestPushResponse{Deliveries: mapAll(rows, deliveryOut)}, nil
}
