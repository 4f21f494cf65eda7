package workspace

import (
	"encoding/json"
	"io"
	"maps"
	"testing"
)

// The holding of one plan is replaced, and those of others stay as they were.
func TestSaveHoldingKeepsOthers(t *testing.T) {
	w, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	want := map[string]string{}
	for _, save := range [][2]string{{"b", `{"turn":1}`}, {"a", `{"turn":2}`}, {`"c"`, `{}`}, {"b", `{"turn":3}`}} {
		if err := w.SaveHolding("mirror", save[0], func(out io.Writer) error { _, err := io.WriteString(out, save[1]); return err }); err != nil {
			t.Fatal(err)
		}
		want[save[0]] = save[1]
		got := map[string]string{}
		err := w.Holdings("mirror", func(plan string, dec *json.Decoder) error {
			var text json.RawMessage
			err := dec.Decode(&text)
			got[plan] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%v is held, want %v", got, want)
		}
	}
}
