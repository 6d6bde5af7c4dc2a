package rpc

import (
	"context"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
)

type deliveryService struct{ app *app.App }

var _ beckonv1connect.DeliveryServiceHandler = deliveryService{}

func (s deliveryService) ListDeliveries(ctx context.Context, r *v1.ListDeliveriesRequest) (*v1.ListDeliveriesResponse, error) {
	page, err := s.app.ListDeliveries(ctx, principalOf(ctx), app.ListDeliveries{
		Subject: r.GetSubjectId(), Size: int(r.GetPageSize()), Page: r.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	return &v1.ListDeliveriesResponse{Deliveries: mapAll(page.Rows, deliveryOut), NextPageToken: page.Next}, nil
}

func deliveryOut(d app.ListedDelivery) *v1.Delivery {
	out := &v1.Delivery{
		Id: d.ID, Kind: pushKindOut(d.Kind), ThreadId: d.Thread, TaskId: d.Task, DecisionId: d.Decision,
		InstallationId: d.Device.ID, InstallationLabel: d.Device.Label, Provider: d.Lane,
		State: deliveryStateOut(d.State), Reason: d.Reason, Sentence: d.Sentence,
		Attempts:   uint32(max(d.Attempt, 0)),
		CreateTime: timeOut(d.CreatedAt), AcceptTime: timeOut(d.AcceptedAt), EndTime: timeOut(d.EndedAt),
	}
	if !d.State.Final() {
		out.DueTime = timeOut(d.DueAt)
	}
	return out
}

func pushKindOut(k push.Kind) v1.PushKind {
	switch k {
	case push.DecisionRequired:
		return v1.PushKind_PUSH_KIND_DECISION_REQUIRED
	case push.ResultReady:
		return v1.PushKind_PUSH_KIND_RESULT_READY
	case push.Withdraw:
		return v1.PushKind_PUSH_KIND_WITHDRAW
	case push.Sweep:
		return v1.PushKind_PUSH_KIND_SWEEP
	case push.BadgeOnly:
		return v1.PushKind_PUSH_KIND_BADGE
	case push.Test:
		return v1.PushKind_PUSH_KIND_TEST
	default:
		return v1.PushKind_PUSH_KIND_UNSPECIFIED
	}
}

// deliveryStateOut joins what waits for its first send and for another: how
// often it was sent is told beside it.
func deliveryStateOut(s push.State) v1.DeliveryState {
	switch s {
	case push.Pending, push.Retry:
		return v1.DeliveryState_DELIVERY_STATE_PENDING
	case push.Leased:
		return v1.DeliveryState_DELIVERY_STATE_SENDING
	case push.Accepted:
		return v1.DeliveryState_DELIVERY_STATE_ACCEPTED
	case push.Rejected:
		return v1.DeliveryState_DELIVERY_STATE_REJECTED
	case push.Doubted:
		return v1.DeliveryState_DELIVERY_STATE_SUSPECT
	case push.DeadAddress:
		return v1.DeliveryState_DELIVERY_STATE_DEAD_ADDRESS
	case push.Expired:
		return v1.DeliveryState_DELIVERY_STATE_EXPIRED
	case push.Superseded:
		return v1.DeliveryState_DELIVERY_STATE_SUPERSEDED
	case push.Suppressed:
		return v1.DeliveryState_DELIVERY_STATE_SUPPRESSED
	default:
		return v1.DeliveryState_DELIVERY_STATE_UNSPECIFIED
	}
}
