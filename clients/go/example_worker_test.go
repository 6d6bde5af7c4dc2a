package beckon_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// deleteFiles is the world outside.
func deleteFiles(args []byte) error {
	fmt.Println("deleted:", string(args))
	return nil
}

var errSoldOut = errors.New("sold out")

// buy is a shop.
func buy(order []byte) (invoice string, err error) {
	fmt.Println("ordered:", string(order))
	return "invoice 9", nil
}

// A first approval. Nothing happens before the person has said yes, which may
// take a second or a week and outlasts this program; then it happens once, with
// exactly what they approved. In a program the agent comes from
// [beckon.AgentFromEnv], and ctx from signal.NotifyContext.
func ExampleWorker() {
	home, ctx := newHome()
	defer home.close()
	agent := home.agent

	err := beckon.Worker{Agent: agent}.Run(ctx, func(ctx context.Context, t *beckon.Task) error {
		question := beckon.AskAction("delete-2024", "Delete 12 old files?", &v1.Action{
			App: "files", Operation: "delete", ArgsJson: []byte(`{"folder":"2024"}`),
		}, false)
		_, err := t.Effect(ctx, question, func(_ context.Context, g beckon.Go) (string, error) {
			return "", deleteFiles(g.Args)
		})
		return err
	})

	fmt.Println("ended:", err)
	// Output:
	// deleted: {"folder":"2024"}
	// ended: <nil>
}

// An effect says by its error how it went: a refusal of the provider is
// definite, and anything else is left to the person. A handler that has its own
// answer to a no looks at the error before it returns it.
func ExampleTask_Effect() {
	home, ctx := newHome()
	defer home.close()

	order := &v1.Action{
		App: "shop", Operation: "order", ArgsJson: []byte(`{"item":"paper","count":5}`),
		EffectClass: v1.EffectClass_EFFECT_CLASS_IRREVERSIBLE,
	}
	_ = beckon.Worker{Agent: home.agent}.Run(ctx, func(ctx context.Context, t *beckon.Task) error {
		done, err := t.Effect(ctx, beckon.AskAction("order-17", "Order paper?", order, true),
			func(_ context.Context, g beckon.Go) (string, error) {
				invoice, err := buy(g.Args) // what was approved, perhaps edited
				if errors.Is(err, errSoldOut) {
					err = beckon.Definite(err)
				}
				return invoice, err
			})
		if no, ok := errors.AsType[*beckon.RefusedError](err); ok && no.Reply.Verdict == beckon.Denied {
			t.SetResult(&v1.TaskResult{Summary: "There will be no paper."})
			return nil
		}
		if err != nil {
			return err
		}
		t.SetResult(&v1.TaskResult{Summary: "Ordered: " + done.GetReceipt()})
		return nil
	})
	fmt.Println(home.ended.GetResult().GetSummary())
	// Output:
	// ordered: {"item":"paper","count":5}
	// Ordered: invoice 9
}

// A sleep of months is a line. The handler is run again after it, and a step
// that was finished before is not.
func ExampleTask_Sleep() {
	home, ctx := newHome()
	defer home.close()

	_ = beckon.Worker{Agent: home.agent, Patience: -1}.Run(ctx, func(ctx context.Context, t *beckon.Task) error {
		offer, err := beckon.Step(ctx, t, "offer", func(context.Context) (string, error) {
			fmt.Println("writing an offer")
			return "offer 1", nil
		})
		if err != nil {
			return err
		}
		if err := t.Sleep(ctx, "before-reminding", 90*24*time.Hour); err != nil {
			return err
		}
		fmt.Println("90 days after", offer)
		return nil
	})
	// Output:
	// writing an offer
	// 90 days after offer 1
}
