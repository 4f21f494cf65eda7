package mirror

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What is written has to be what json would write, and to be read back.
func TestHoldingIsWrittenAndReadAnImageAtATime(t *testing.T) {
	m := sample(t)
	p := m.plan()
	names, err := Destination{Host: "mirror.example.com", Prefix: "ocp"}.Names(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []Holding{{}, Hold(p, names, &Report{}, nil)} {
		var text bytes.Buffer
		if err := h.Write(&text); err != nil {
			t.Fatal(err)
		}
		var byJSON Holding
		if err := json.Unmarshal(text.Bytes(), &byJSON); err != nil {
			t.Fatalf("%v in %s", err, text.String())
		}
		read, err := ReadHolding(json.NewDecoder(&text))
		if err != nil {
			t.Fatal(err)
		}
		for how, got := range map[string]Holding{"json": byJSON, "ReadHolding": read} {
			if diff := cmp.Diff(h, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("read with %s: %s", how, diff)
			}
		}
	}
}

func TestReadHoldingRefuses(t *testing.T) {
	for _, text := range []string{``, `[]`, `{"images": 1}`, `{"images": [`, `{"images": [{"Source": 1}]}`, `{"turn": "x"}`, `{`} {
		if _, err := ReadHolding(json.NewDecoder(bytes.NewBufferString(text))); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
