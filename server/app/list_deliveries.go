package app

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// ListDeliveries asks why phones rang or did not.
type ListDeliveries struct {
	// Subject is a decision or a task; empty for everything, newest first.
	Subject string
	Size    int
	Page    string
}

// ListedDelivery is a row with the device it was for.
type ListedDelivery struct {
	push.Delivery
	// Device is empty once the address is gone.
	Device store.Installation
	// Sentence says to people why it did, or did not, ring.
	Sentence string
}

// DeliveriesPage is one page; Next is empty at the end.
type DeliveriesPage struct {
	Rows []ListedDelivery
	Next string
}

const deliveriesPage = 50

// ListDeliveries reads outbox rows of the caller's account. A subject has few
// and they come at once. By any device. Errors: *FieldError, ErrWrongPrincipal,
// ErrRevoked, store.ErrNotFound.
func (a *App) ListDeliveries(ctx context.Context, p policy.Principal, c ListDeliveries) (DeliveriesPage, error) {
	from, err := deliveryPlace(c.Page)
	if err != nil {
		return DeliveriesPage{}, err
	}
	if c.Size == 0 {
		c.Size = deliveriesPage
	}
	var page DeliveriesPage
	err = a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) error {
		rows, more, err := deliveriesOf(tx, p, c, from)
		if err != nil {
			return err
		}
		page = DeliveriesPage{}
		if more {
			page.Next = placeText(rows[len(rows)-1])
		}
		page.Rows, err = a.withDevices(tx, rows)
		return err
	})
	return page, err
}

func deliveriesOf(tx *store.Read, p policy.Principal, c ListDeliveries, from store.DeliveryPlace) (rows []push.Delivery, more bool, err error) {
	if c.Subject == "" {
		rows, err = tx.RecentDeliveries(from, c.Size+1)
		if len(rows) > c.Size {
			return rows[:c.Size], true, err
		}
		return rows, false, err
	}
	if err := knownSubject(tx, p, c.Subject); err != nil {
		return nil, false, err
	}
	rows, err = tx.DeliveriesAbout(c.Subject)
	slices.SortStableFunc(rows, func(x, y push.Delivery) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return rows, false, err
}

// knownSubject refuses what is no decision and no task of the account.
func knownSubject(tx *store.Read, p policy.Principal, id string) error {
	if strings.HasPrefix(id, store.KindTask+"_") {
		if _, err := ownAccount(p, store.KindTask, id); err != nil {
			return err
		}
		_, err := tx.Task(id)
		return err
	}
	if _, err := ownAccount(p, store.KindDecision, id); err != nil {
		return err
	}
	_, err := tx.Decision(id)
	return err
}

func (a *App) withDevices(tx *store.Read, rows []push.Delivery) ([]ListedDelivery, error) {
	addresses, err := tx.Addresses()
	if err != nil {
		return nil, err
	}
	devices := map[string]store.Installation{}
	for _, adr := range addresses {
		if devices[adr.ID], err = tx.Installation(adr.Installation); err != nil {
			return nil, err
		}
	}
	out := make([]ListedDelivery, len(rows))
	for i, d := range rows {
		out[i] = ListedDelivery{Delivery: d, Device: devices[d.Address], Sentence: outbox.Explain(d, a.pushPaused(d.Lane))}
	}
	return out, nil
}

// placeText is where the page after a row starts.
func placeText(d push.Delivery) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(d.CreatedAt.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(b, d.ID...))
}

func deliveryPlace(page string) (store.DeliveryPlace, error) {
	if page == "" {
		return store.DeliveryPlace{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(page)
	if err != nil || len(b) <= 8 {
		return store.DeliveryPlace{}, &FieldError{Field: "page_token", Reason: "MALFORMED"}
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()
	return store.DeliveryPlace{Time: at, ID: string(b[8:])}, nil
}
