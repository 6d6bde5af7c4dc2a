package apns_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	beckonv1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/provider/apns"
)

// What is written by hand has to be what clients decode with generated code.
// protojson refuses unknown fields and wrong forms.
func TestRender_DecodesStrictlyAsTheGeneratedPayload(t *testing.T) {
	t.Parallel()
	body, err := apns.Render(decision())
	if err != nil {
		t.Fatal(err)
	}
	var top struct{ Beckon json.RawMessage }
	if err := json.Unmarshal(body, &top); err != nil {
		t.Fatal(err)
	}
	var got beckonv1.PushPayload
	if err := protojson.Unmarshal(top.Beckon, &got); err != nil {
		t.Fatal(err)
	}
	want := &beckonv1.PushPayload{
		V: 1, Kind: beckonv1.PushKind_PUSH_KIND_DECISION_REQUIRED, Account: "tag",
		Thread: "thr_r_1", Task: "tsk_r_1", Decision: "dec_r_1", Revision: 2,
		AskedDigest: "00ff", AsOf: "c3RhbXA",
		Badge:      &beckonv1.PushBadge{Count: 3, Epoch: "ZQ", Version: 7},
		ExpireTime: timestamppb.New(t0),
		Actions: []*beckonv1.PushAction{
			{Verb: "approve", Token: "a.b.c"}, {Verb: "deny", Token: "d.e.f"},
		},
	}
	if diff := cmp.Diff(want, &got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
