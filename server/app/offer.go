package app

import (
	"time"

	"github.com/beckon-dev/beckon/server/store"
)

// undecided: a device may still come in by this offer.
func undecided(o store.Offer) bool {
	return o.State == store.OfferOpen || o.State == store.OfferRedeemed
}

// over: time has ended it, whether or not somebody has noted that.
func over(o store.Offer, now time.Time) bool {
	return undecided(o) && !now.Before(o.ExpireTime)
}

// killOffer ends an offer for good. Why stays in the audit, since whoever used
// a stolen code has left a trace here.
func killOffer(tx *store.Tx, o store.Offer, why string) error {
	o.State = store.OfferDead
	if err := tx.PutOffer(o); err != nil {
		return err
	}
	return tx.Audit(actorServer, "pairing.dead", o.ID, why)
}
