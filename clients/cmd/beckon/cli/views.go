package cli

import (
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// The views are what --json prints. Their names are a contract with scripts:
// they are added to and never changed. Times are UTC; absent ones are left out.

type errorView struct {
	Error      string  `json:"error"`
	Reason     string  `json:"reason,omitempty"`
	Field      string  `json:"field,omitempty"`
	Max        int64   `json:"max,omitempty"`
	RetryAfter float64 `json:"retry_after_seconds,omitempty"`
}

func errorViewOf(err error) errorView {
	v := errorView{Error: plain(err)}
	if e, ok := errors.AsType[*beckon.Error](err); ok {
		v.Reason, v.Field, v.Max, v.RetryAfter = e.Reason, e.Field, e.Max, e.RetryAfter.Seconds()
	}
	return v
}

type optionView struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	// Prefill is where the text starts.
	Prefill string `json:"prefill,omitempty"`
}

type exhibitView struct {
	Kind     string `json:"kind"`
	Title    string `json:"title,omitempty"`
	SHA256   string `json:"sha256"`
	Bytes    uint64 `json:"bytes"`
	MustView bool   `json:"must_view,omitempty"`
}

type fieldView struct {
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	Type     string `json:"type"`
	Required bool   `json:"required,omitempty"`
	// Bounds are what the schema asks of it besides, in words.
	Bounds  []string     `json:"bounds,omitempty"`
	Default string       `json:"default_json,omitempty"`
	Choices []choiceView `json:"choices,omitempty"`
}

type choiceView struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

type actionView struct {
	App        string `json:"app"`
	Connection string `json:"connection,omitempty"`
	Operation  string `json:"operation"`
	Args       string `json:"args_json"`
	Target     string `json:"target_json,omitempty"`
}

type factView struct {
	Label string `json:"label"`
	Value string `json:"value"`
	// Marked: hidden or look-alike characters are written out in it.
	Marked bool `json:"marked,omitempty"`
}

type questionView struct {
	ID       string       `json:"id"`
	Question string       `json:"question,omitempty"`
	Action   *actionView  `json:"action,omitempty"`
	Facts    []factView   `json:"facts,omitempty"`
	Options  []optionView `json:"options"`
	Header   string       `json:"header,omitempty"`
	URL      string       `json:"url,omitempty"`
	Schema   string       `json:"response_schema_json,omitempty"`
	Fields   []fieldView  `json:"fields,omitempty"`
	WebOnly  bool         `json:"web_only,omitempty"`
	Least    uint32       `json:"min,omitempty"`
	Most     uint32       `json:"max,omitempty"`
	// Evidence is what there is to look at, by the digest of its bytes.
	Evidence []exhibitView `json:"evidence,omitempty"`
}

type chosenView struct {
	ItemID  string   `json:"item_id"`
	Options []string `json:"option_ids"`
	Text    string   `json:"text,omitempty"`
	Args    string   `json:"edited_args_json,omitempty"`
	Content string   `json:"content_json,omitempty"`
}

type answerView struct {
	Items          []chosenView `json:"items,omitempty"`
	InstallationID string       `json:"installation_id"`
	Installation   string       `json:"installation_label"`
	Surface        string       `json:"surface"`
	AnswerTime     time.Time    `json:"answer_time,omitzero"`
	DeliverTime    time.Time    `json:"deliver_time,omitzero"`
}

type decisionView struct {
	ID          string         `json:"id"`
	TaskID      string         `json:"task_id"`
	ThreadID    string         `json:"thread_id"`
	AgentID     string         `json:"agent_id"`
	Agent       string         `json:"agent_name,omitempty"`
	State       string         `json:"state"`
	Kind        string         `json:"kind"`
	Class       *int           `json:"class,omitempty"`
	Title       string         `json:"title"`
	AgentReason string         `json:"agent_reason,omitempty"`
	Revision    uint32         `json:"revision"`
	Items       []questionView `json:"items,omitempty"`
	Answer      *answerView    `json:"answer,omitempty"`
	CreateTime  time.Time      `json:"create_time,omitzero"`
	ExpireTime  time.Time      `json:"expire_time,omitzero"`
	CloseTime   time.Time      `json:"close_time,omitzero"`
	CloseReason string         `json:"close_reason,omitempty"`
	SnoozeUntil time.Time      `json:"snooze_until,omitzero"`
	Origin      string         `json:"origin_dialect,omitempty"`
}

func decisionViewOf(d *v1.Decision) decisionView {
	v := decisionView{
		ID: d.GetId(), TaskID: d.GetTaskId(), ThreadID: d.GetThreadId(), AgentID: d.GetAgentId(),
		State: word(d.GetState()), Kind: word(d.GetKind()), Class: classOf(d.GetEffectClass()), Title: d.GetTitle(),
		AgentReason: d.GetAgentReason(), Revision: d.GetRevision(), CreateTime: at(d.GetCreateTime()),
		ExpireTime: at(d.GetExpireTime()), CloseTime: at(d.GetCloseTime()), CloseReason: d.GetCloseReason(),
		SnoozeUntil: at(d.GetSnoozeUntil()), Origin: d.GetOrigin().GetDialect(),
	}
	for _, it := range d.GetItems() {
		v.Items = append(v.Items, questionViewOf(it))
	}
	if a := d.GetAnswer(); a != nil {
		v.Answer = &answerView{
			InstallationID: a.GetInstallationId(), Installation: a.GetInstallationLabel(), Surface: word(a.GetSurface()),
			AnswerTime: at(a.GetAnswerTime()), DeliverTime: at(a.GetDeliverTime()),
		}
		for _, it := range a.GetItems() {
			v.Answer.Items = append(v.Answer.Items, chosenView{
				ItemID: it.GetItemId(), Options: it.GetOptionIds(), Text: it.GetText(),
				Args: string(it.GetEditedArgsJson()), Content: string(it.GetContentJson()),
			})
		}
	}
	return v
}

func questionViewOf(it *v1.DecisionItem) questionView {
	q := questionView{
		ID: it.GetId(), Question: it.GetQuestion(), Options: []optionView{}, Header: it.GetHeader(), URL: it.GetUrl(),
		Schema: string(it.GetResponseSchemaJson()), WebOnly: it.GetForm().GetWebOnly(), Least: it.GetMulti().GetMin(), Most: it.GetMulti().GetMax(),
	}
	for _, e := range it.GetEvidence() {
		q.Evidence = append(q.Evidence, exhibitView{
			strings.ToLower(strings.TrimPrefix(e.GetType().String(), "EVIDENCE_TYPE_")), e.GetTitle(), hex.EncodeToString(e.GetSha256()), e.GetBytes(), e.GetMustView(),
		})
	}
	for _, f := range it.GetForm().GetFields() {
		v := fieldView{Name: f.GetName(), Title: f.GetTitle(), Type: word(f.GetType()), Required: f.GetRequired(), Bounds: boundsOf(it.GetResponseSchemaJson(), f.GetName()).words(f.GetFormat()), Default: string(f.GetDefaultJson())}
		for _, c := range f.GetChoices() {
			v.Choices = append(v.Choices, choiceView{c.GetValue(), c.GetLabel()})
		}
		q.Fields = append(q.Fields, v)
	}
	if a := it.GetAction(); a != nil {
		q.Action = &actionView{
			App: a.GetApp(), Connection: a.GetConnection(), Operation: a.GetOperation(),
			Args: string(a.GetArgsJson()), Target: string(a.GetTargetJson()),
		}
	}
	for _, f := range it.GetFacts() {
		q.Facts = append(q.Facts, factView{f.GetLabel(), f.GetValue(), f.GetMarked()})
	}
	for _, o := range it.GetOptions() {
		q.Options = append(q.Options, optionView{o.GetId(), o.GetLabel(), word(o.GetKind()), word(o.GetText()), o.GetPrefill()})
	}
	return q
}

func headerViewOf(d *v1.DecisionHeader) decisionView {
	v := decisionView{
		ID: d.GetId(), TaskID: d.GetTaskId(), ThreadID: d.GetThreadId(), AgentID: d.GetAgentId(),
		State: word(d.GetState()), Kind: word(d.GetKind()), Class: classOf(d.GetEffectClass()), Title: d.GetTitle(),
		Revision: d.GetRevision(), CreateTime: at(d.GetCreateTime()), ExpireTime: at(d.GetExpireTime()),
		SnoozeUntil: at(d.GetSnoozeUntil()),
	}
	if w := d.GetWinner(); w != nil {
		v.Answer = winnerView(w)
	}
	return v
}

func winnerView(w *v1.Winner) *answerView {
	return &answerView{
		InstallationID: w.GetInstallationId(), Installation: w.GetInstallationLabel(),
		Surface: word(w.GetSurface()), AnswerTime: at(w.GetAnswerTime()),
	}
}

type taskView struct {
	ID         string `json:"id"`
	ThreadID   string `json:"thread_id"`
	AgentID    string `json:"agent_id"`
	Title      string `json:"title"`
	Phase      string `json:"phase"`
	Hold       string `json:"hold,omitempty"`
	HoldReason string `json:"hold_reason,omitempty"`
	Progress   string `json:"progress,omitempty"`
	// WaitingFor is what a task without a worker needs, since when.
	WaitingFor   string    `json:"waiting_for,omitempty"`
	WaitingSince time.Time `json:"waiting_since,omitzero"`
	// RetryTime is when a task whose worker was lost is tried again.
	RetryTime  time.Time      `json:"retry_time,omitzero"`
	Summary    string         `json:"result_summary,omitempty"`
	Body       string         `json:"result_body,omitempty"`
	Failure    string         `json:"failure_code,omitempty"`
	Text       string         `json:"failure_text,omitempty"`
	ExitStatus *int32         `json:"exit_status,omitempty"`
	CreateTime time.Time      `json:"create_time,omitzero"`
	EndTime    time.Time      `json:"end_time,omitzero"`
	Decisions  []decisionView `json:"decisions,omitempty"`
}

func taskViewOf(t *v1.Task) taskView {
	v := taskView{
		ID: t.GetId(), ThreadID: t.GetThreadId(), AgentID: t.GetAgentId(), Title: t.GetTitle(), Phase: word(t.GetPhase()),
		Hold: holdWord(t.GetHold().GetKind()), HoldReason: t.GetHold().GetReason(), Progress: t.GetProgress().GetText(),
		WaitingFor: t.GetWaitingFor().GetWhat(), WaitingSince: at(t.GetWaitingFor().GetSince()), RetryTime: at(t.GetRetryTime()),
		CreateTime: at(t.GetCreateTime()), EndTime: at(t.GetEndTime()),
	}
	if r := t.GetResult(); r != nil {
		v.Summary, v.Body, v.ExitStatus = r.GetSummary(), r.GetBody(), r.ExitStatus
	}
	if f := t.GetFailure(); f != nil {
		v.Failure, v.Text, v.ExitStatus = f.GetCode(), f.GetText(), f.ExitStatus
	}
	return v
}

func taskHeaderViewOf(t *v1.TaskHeader) taskView {
	return taskView{
		ID: t.GetId(), ThreadID: t.GetThreadId(), AgentID: t.GetAgentId(), Title: t.GetTitle(), Phase: word(t.GetPhase()),
		Hold: holdWord(t.GetHold()), Progress: t.GetProgress().GetText(), Summary: t.GetResultSummary(),
		Failure: t.GetFailureCode(), CreateTime: at(t.GetCreateTime()), EndTime: at(t.GetEndTime()),
		WaitingFor: t.GetWaitingFor().GetWhat(), WaitingSince: at(t.GetWaitingFor().GetSince()), RetryTime: at(t.GetRetryTime()),
	}
}

type threadView struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	AgentID    string     `json:"agent_id"`
	Unread     uint64     `json:"unread"`
	Archived   bool       `json:"archived,omitempty"`
	Preview    string     `json:"preview,omitempty"`
	LastTaskID string     `json:"last_task_id,omitempty"`
	UpdateTime time.Time  `json:"update_time,omitzero"`
	Tasks      []taskView `json:"tasks,omitempty"`
	Items      []itemView `json:"items,omitempty"`
	More       bool       `json:"more,omitempty"`
}

func threadViewOf(t *v1.Thread) threadView {
	return threadView{
		ID: t.GetId(), Title: t.GetTitle(), AgentID: t.GetAgentId(), Unread: t.GetUnread(), Preview: t.GetPreview(),
		LastTaskID: t.GetLastTaskId(), UpdateTime: at(t.GetUpdateTime()), Archived: t.GetArchived(),
	}
}

type itemView struct {
	ID         string     `json:"id"`
	TaskID     string     `json:"task_id,omitempty"`
	Position   uint64     `json:"position"`
	Role       string     `json:"role"`
	Kind       string     `json:"kind"`
	Parts      []partView `json:"parts"`
	CreateTime time.Time  `json:"create_time,omitzero"`
}

type partView struct {
	Text *string `json:"text,omitempty"`
	// Data is base64: what a command prints need not be text.
	Data    []byte `json:"data,omitempty"`
	Stream  string `json:"stream,omitempty"`
	Omitted uint64 `json:"omitted_bytes,omitempty"`
}

func itemViewOf(it *v1.Item) itemView {
	v := itemView{
		ID: it.GetId(), TaskID: it.GetTaskId(), Position: it.GetPosition(), Role: word(it.GetRole()), Kind: word(it.GetKind()),
		Parts: []partView{}, CreateTime: at(it.GetCreateTime()),
	}
	for _, p := range it.GetParts() {
		if o := p.GetOutput(); o != nil {
			v.Parts = append(v.Parts, partView{Data: o.GetData(), Stream: word(o.GetStream()), Omitted: o.GetOmittedBytes()})
			continue
		}
		text := p.GetText()
		v.Parts = append(v.Parts, partView{Text: &text})
	}
	return v
}

type deviceView struct {
	ID           string    `json:"id"`
	Label        string    `json:"label"`
	Platform     string    `json:"platform"`
	State        string    `json:"state"`
	This         bool      `json:"this,omitempty"`
	PushHealth   string    `json:"push_health,omitempty"`
	ProbationEnd time.Time `json:"probation_end_time,omitzero"`
	CreateTime   time.Time `json:"create_time,omitzero"`
}

func deviceViewOf(i *v1.Installation, own string) deviceView {
	return deviceView{
		ID: i.GetId(), Label: i.GetLabel(), Platform: word(i.GetPlatform()), State: word(i.GetState()),
		This: i.GetId() == own, PushHealth: word(i.GetPushHealth()),
		ProbationEnd: at(i.GetProbationEndTime()), CreateTime: at(i.GetCreateTime()),
	}
}

type agentView struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	State      string    `json:"state"`
	Ceiling    *int      `json:"ceiling,omitempty"`
	LockScreen bool      `json:"lock_screen_approval"`
	CreateTime time.Time `json:"create_time,omitzero"`
	Keys       []keyView `json:"keys,omitempty"`
}

type keyView struct {
	ID         string    `json:"id"`
	ExpireTime time.Time `json:"expire_time,omitzero"`
}

func agentViewOf(l *v1.AgentLink) agentView {
	return agentView{
		ID: l.GetAgentId(), Name: l.GetAgentName(), State: word(l.GetState()), Ceiling: classOf(l.GetCeiling()),
		LockScreen: l.GetLockScreenApproval(), CreateTime: at(l.GetCreateTime()),
	}
}

// word is an enum value without its prefix, in lower case: "DECISION_STATE_
// PENDING" is "pending".
func word[E interface {
	~int32
	String() string
}](e E) string {
	if e == 0 {
		return ""
	}
	name := e.String()
	for _, prefix := range []string{
		"DECISION_STATE_", "DECISION_KIND_", "OPTION_KIND_", "TEXT_RULE_", "SURFACE_", "TASK_PHASE_", "HOLD_KIND_",
		"ITEM_ROLE_", "ITEM_KIND_", "OUTPUT_STREAM_", "PLATFORM_", "INSTALLATION_STATE_", "PUSH_HEALTH_", "LINK_STATE_",
		"ANSWER_OUTCOME_", "STOP_OUTCOME_", "CONTENT_LEVEL_", "STEP_", "DELIVERY_STATE_", "PUSH_KIND_", "EFFECT_STATE_", "EFFECT_EXIT_",
		"EVIDENCE_KIND_", "FIELD_TYPE_", "REVOKE_OUTCOME_", "WAIT_MODE_",
	} {
		if rest, found := strings.CutPrefix(name, prefix); found {
			name = rest
			break
		}
	}
	return strings.ToLower(name)
}

func holdWord(k v1.HoldKind) string {
	if k == v1.HoldKind_HOLD_KIND_NONE {
		return ""
	}
	return word(k)
}

// classOf is the class as people count it, 0 to 4.
func classOf(c v1.EffectClass) *int {
	if c == v1.EffectClass_EFFECT_CLASS_UNSPECIFIED {
		return nil
	}
	n := int(c) - 1
	return &n
}

func at(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
