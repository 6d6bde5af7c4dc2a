package app

import (
	"io"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/thread"
)

// appendItem gives an item its id and place and stores it; the caller stores
// the thread.
func (a *App) appendItem(tx *store.Tx, th *thread.State, it thread.Item) (thread.Item, error) {
	id, err := a.newID(tx.Read, store.KindItem)
	if err != nil {
		return it, err
	}
	it.ID = id
	*th, it = thread.Append(*th, it, tx.Now())
	return it, tx.PutItem(it)
}

// nameLen is 130 bits in characters of five.
const nameLen = 26

// randomName draws what nobody can guess and nothing else is called.
func randomName(random io.Reader) (string, error) {
	const digits = "0123456789abcdefghijklmnopqrstuv"
	b := make([]byte, nameLen)
	if _, err := io.ReadFull(random, b); err != nil {
		return "", err
	}
	for i := range b {
		b[i] = digits[b[i]&31]
	}
	return string(b), nil
}
