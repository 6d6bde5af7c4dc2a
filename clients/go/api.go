package beckon

import (
	"connectrpc.com/connect/v2"

	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

// API is the services of one server, with the credential of one caller. Every
// error of every call has an [*Error] in its chain.
type API struct {
	Account       beckonv1connect.AccountServiceClient
	Audit         beckonv1connect.AuditServiceClient
	Addresses     beckonv1connect.AddressServiceClient
	Agents        beckonv1connect.AgentServiceClient
	Artifacts     beckonv1connect.ArtifactServiceClient
	Decisions     beckonv1connect.DecisionServiceClient
	Deliveries    beckonv1connect.DeliveryServiceClient
	Effects       beckonv1connect.EffectServiceClient
	Installations beckonv1connect.InstallationServiceClient
	Items         beckonv1connect.ItemServiceClient
	Pairing       beckonv1connect.PairingServiceClient
	Sync          beckonv1connect.SyncServiceClient
	Tasks         beckonv1connect.TaskServiceClient
	Timers        beckonv1connect.TimerServiceClient
	Threads       beckonv1connect.ThreadServiceClient
	Tokens        beckonv1connect.TokenServiceClient

	conns connections
	retry Retry
}

// Close gives idle connections back. Calls in flight go on.
func (a *API) Close() { a.conns.close() }

// Reconnect leaves every connection at once, without asking whether it still
// carries anything: for a device that was asleep or is on another network now.
// Calls in flight are made again where a repeat is the same act, and fail as by
// a lost connection where it is not. It does nothing to a Transport of
// [Options].
func (a *API) Reconnect() { a.conns.drop() }

// newAPI makes the services over an open transport.
func newAPI(transport connect.Transport, conns connections, retry Retry, creds credentials) *API {
	c := connect.NewClient(transport, caller{retry: retry.withDefaults(), creds: creds}.intercept)
	return &API{
		Account:       beckonv1connect.NewAccountServiceClient(c),
		Audit:         beckonv1connect.NewAuditServiceClient(c),
		Addresses:     beckonv1connect.NewAddressServiceClient(c),
		Agents:        beckonv1connect.NewAgentServiceClient(c),
		Artifacts:     beckonv1connect.NewArtifactServiceClient(c),
		Decisions:     beckonv1connect.NewDecisionServiceClient(c),
		Deliveries:    beckonv1connect.NewDeliveryServiceClient(c),
		Effects:       beckonv1connect.NewEffectServiceClient(c),
		Installations: beckonv1connect.NewInstallationServiceClient(c),
		Items:         beckonv1connect.NewItemServiceClient(c),
		Pairing:       beckonv1connect.NewPairingServiceClient(c),
		Sync:          beckonv1connect.NewSyncServiceClient(c),
		Tasks:         beckonv1connect.NewTaskServiceClient(c),
		Threads:       beckonv1connect.NewThreadServiceClient(c),
		Timers:        beckonv1connect.NewTimerServiceClient(c),
		Tokens:        beckonv1connect.NewTokenServiceClient(c),
		conns:         conns,
		retry:         retry.withDefaults(),
	}
}

// Anonymous is for the calls that need no credential.
func Anonymous(opts Options) (*API, error) {
	transport, conns, err := opts.transport()
	if err != nil {
		return nil, err
	}
	return newAPI(transport, conns, opts.Retry, anonymous{}), nil
}
