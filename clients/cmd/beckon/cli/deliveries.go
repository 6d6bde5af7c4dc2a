package cli

import (
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

type deliveriesCommand struct {
	ID string `arg:""       help:"A decision (dec_…) or a task (tsk_…); left out: the newest of all."     name:"id" optional:""`
	N  uint32 `default:"20" help:"At most so many, up to 200."                                            name:"n"  short:"n"`
}

type deliveryView struct {
	ID             string    `json:"id"`
	Kind           string    `json:"kind"`
	ThreadID       string    `json:"thread_id,omitempty"`
	TaskID         string    `json:"task_id,omitempty"`
	DecisionID     string    `json:"decision_id,omitempty"`
	InstallationID string    `json:"installation_id,omitempty"`
	Device         string    `json:"device,omitempty"`
	Provider       string    `json:"provider"`
	State          string    `json:"state"`
	Reason         string    `json:"reason,omitempty"`
	Attempts       uint32    `json:"attempts"`
	CreateTime     time.Time `json:"create_time"`
	AcceptTime     time.Time `json:"accept_time,omitzero"`
	EndTime        time.Time `json:"end_time,omitzero"`
	Sentence       string    `json:"sentence"`
}

func deliveryViewOf(d *v1.Delivery) deliveryView {
	return deliveryView{
		ID: d.GetId(), Kind: word(d.GetKind()), ThreadID: d.GetThreadId(), TaskID: d.GetTaskId(), DecisionID: d.GetDecisionId(),
		InstallationID: d.GetInstallationId(), Device: d.GetInstallationLabel(), Provider: d.GetProvider(),
		State: word(d.GetState()), Reason: d.GetReason(), Attempts: d.GetAttempts(), CreateTime: at(d.GetCreateTime()),
		AcceptTime: at(d.GetAcceptTime()), EndTime: at(d.GetEndTime()), Sentence: d.GetSentence(),
	}
}

// Run lists deliveries, newest first, each with why it did or did not ring.
func (c deliveriesCommand) Run(s *session) error {
	if c.ID != "" {
		if err := s.id(c.ID, "dec", "tsk"); err != nil {
			return err
		}
	}
	if c.N < 1 || c.N > 200 {
		return usage("-n is from 1 to 200")
	}
	p, err := s.person()
	if err != nil {
		return err
	}
	defer p.Close()
	res, err := p.Deliveries.ListDeliveries(s.ctx, &v1.ListDeliveriesRequest{SubjectId: c.ID, PageSize: c.N})
	if err != nil {
		return err
	}
	if len(res.GetDeliveries()) == 0 && !s.line.JSON {
		s.sayf("Nothing was to ring.")
	}
	return s.deliveries(res.GetDeliveries())
}

// Help is shown under the line about the command.
func (deliveriesCommand) Help() string {
	return "Kinds: decision_required and result_ready call a person; test is from 'beckon devices --ring'; withdraw takes an alert back " +
		"once it was answered elsewhere; sweep wakes an app without a sound, to take away what is over; badge sets the number on the icon."
}

// deliveries prints one line each.
func (s *session) deliveries(all []*v1.Delivery) error {
	for _, d := range all {
		v := deliveryViewOf(d)
		if s.line.JSON {
			if err := s.print(v); err != nil {
				return err
			}
			continue
		}
		device := v.Device
		if device == "" {
			device = "a device that is gone"
		}
		s.sayf("%s  %-17s %s: %s", clock(v.CreateTime), v.Kind, device, v.Sentence)
	}
	return nil
}
