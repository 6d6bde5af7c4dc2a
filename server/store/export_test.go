package store

import (
	"reflect"

	"github.com/beckon-dev/beckon/sync/changelog"
)

// Record is one kind of stored record, for tests that go over all of them.
type Record struct {
	Name, Codec string
	Type        reflect.Type
	Encode      func(any) ([]byte, error)
	Decode      func([]byte) (any, error)
}

func recordOf[T any, C codec[T]](name string) Record {
	var c C
	return Record{
		Name: name, Codec: reflect.TypeFor[C]().Name(), Type: reflect.TypeFor[T](),
		Encode: func(v any) ([]byte, error) { return c.encode(v.(T)) },
		Decode: func(b []byte) (any, error) { return c.decode(b) },
	}
}

func rowOf[T any, C codec[T]](table rows[T, C]) Record { return recordOf[T, C](string(table)) }

func bodyOf[T any, C codec[T]](name string, _ entity[T, C]) Record {
	return recordOf[T, C]("entity-" + name)
}

// Records lists all kinds: the rows of every typed table and the bodies of
// those entities that are in no table.
func Records() []Record {
	return []Record{
		rowOf(tabMeta), rowOf(tabHead), rowOf(tabAccount), rowOf(tabScope), rowOf(tabTask), rowOf(tabThread),
		rowOf(tabTimer), rowOf(tabSignal), rowOf(tabCheck), rowOf(tabOnce), rowOf(tabInstall), rowOf(tabFamily), rowOf(tabUnlock),
		rowOf(tabAgent), rowOf(tabLink), rowOf(tabKeyOf), rowOf(tabAddress), rowOf(tabSettings), rowOf(tabQuiet), rowOf(tabOutbox),
		rowOf(tabCredential), rowOf(tabOffers), rowOf(tabRegistry), rowOf(tabEffect), rowOf(tabArtifact), rowOf(tabArtifactOf), rowOf(tabPointReady),
		rowOf(tabDraft), bodyOf("viewstate", entViewState),
		bodyOf("threadheader", entThreadHeader), bodyOf("taskheader", entTaskHeader), bodyOf("decisionheader", entDecisionHeader),
		bodyOf("counters", entCounters), bodyOf("item", entItem), bodyOf("decision", entDecision),
	}
}

// DecodeEntityRow reads an entity row and gives its parts.
func DecodeEntityRow(b []byte) (version changelog.Seq, deleted bool, origin string, body []byte, err error) {
	e, err := unmarshalEntity(b)
	return e.Version, e.Deleted, e.Origin, e.Body, err
}

// EncodeEntityRow writes an entity row.
func EncodeEntityRow(version changelog.Seq, deleted bool, origin string, body []byte) []byte {
	return entityRow{Version: version, Deleted: deleted, Origin: origin, Body: body}.marshal()
}
