package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestWith(t *testing.T) {
	tests := []struct {
		name, raw, member string
		value             any
		want              string
	}{
		{"replaced", "{\n \"name\": \"p\",\n \"defaultChannel\" : \"old\" , \"big\": 9007199254740993}", "defaultChannel", "new <1>",
			"{\n \"name\": \"p\",\n \"defaultChannel\" : \"new <1>\" , \"big\": 9007199254740993}"},
		{"in another case", `{"DefaultChannel":"old"}`, "defaultChannel", "new", `{"DefaultChannel":"new"}`},
		{"added", `{"a": 1 }`, "b", []int{2}, `{"a": 1,"b":[2] }`},
		{"added to nothing", `{ }`, "b", nil, `{"b":null }`},
		{"raw", `{"entries": []}`, "entries", []json.RawMessage{[]byte(`{"n": 1.0}`)}, `{"entries": [{"n":1.0}]}`},
		{"an inner member of the name", `{"x": {"b": 1}, "b": 2}`, "b", 3, `{"x": {"b": 1}, "b": 3}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &catalog.Meta{Schema: "olm.package", Package: "p", Name: "p", Raw: []byte(test.raw), File: "f", Line: 7}
			before := string(m.Raw)
			got, err := m.With(test.member, test.value)
			fail.On(t, err)
			fail.Diff(t, test.want, string(got.Raw))
			if got.File != "f" || got.Line != 7 || string(m.Raw) != before {
				t.Errorf("got %+v, and %s", got, m.Raw)
			}
		})
	}

	m := &catalog.Meta{Raw: []byte(`{"schema": "olm.package", "name": "p"}`)}
	got, err := m.With("name", "q")
	if err != nil || got.Name != "q" || got.Package != "q" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{``, `[]`, `{"a": 1`, `{"a": 1, "A": 2}`, `{"name": 1}`} {
		if got, err := (&catalog.Meta{Raw: []byte(bad)}).With("a", 1); err == nil {
			t.Errorf("%s became %s", bad, got.Raw)
		}
	}
	if _, err := m.With("a", func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

func TestKeepElements(t *testing.T) {
	const raw = "{\"entries\": [\n  {\"n\": 1.0},\n  {\"n\": \"a,]b\"} ,\n  [3]\n], \"x\": 1}"
	tests := []struct {
		keep []int
		want string
	}{
		{[]int{0, 1, 2}, raw},
		{[]int{0}, "{\"entries\": [\n  {\"n\": 1.0}\n], \"x\": 1}"},
		{[]int{1, 2}, "{\"entries\": [\n  {\"n\": \"a,]b\"},\n  [3]\n], \"x\": 1}"},
		{[]int{2}, "{\"entries\": [\n  [3]\n], \"x\": 1}"},
		{nil, "{\"entries\": [], \"x\": 1}"},
	}
	for _, test := range tests {
		m := &catalog.Meta{Raw: []byte(raw)}
		got, err := m.KeepElements("entries", func(i int) bool { return slices.Contains(test.keep, i) })
		fail.On(t, err)
		if diff := cmp.Diff(test.want, string(got.Raw)); diff != "" {
			t.Errorf("keeping %v: %s", test.keep, diff)
		}
	}
	m := &catalog.Meta{Raw: []byte(raw)}
	if got, err := m.KeepElements("skips", func(int) bool { return false }); err != nil || got != m {
		t.Errorf("a missing member: got %v, %v", got, err)
	}
	if _, err := m.KeepElements("x", func(int) bool { return false }); err == nil {
		t.Error("a number was accepted as a list")
	}
}

// FuzzEdit checks that an edit changes its member and nothing else.
func FuzzEdit(f *testing.F) {
	f.Add(`{"schema": "a", "entries": [1, {"x": [2]} , 3 ]}`, "entries", uint(5))
	f.Add("{\n}", "a", uint(0))
	f.Add(`{"A":[[],"]",null],"b":{"a":1}}`, "a", uint(2))
	f.Fuzz(func(t *testing.T, raw, member string, keep uint) {
		m := &catalog.Meta{Raw: []byte(raw)}
		var before map[string]json.RawMessage
		if got, err := m.With(member, "new"); err == nil {
			if err := json.Unmarshal([]byte(raw), &before); err != nil {
				t.Skip() // invalid UTF-8 and the like is accepted, but encoding/json changes it
			}
			sameBut(t, before, got.Raw, member)
		}
		kept := 0
		got, err := m.KeepElements(member, func(i int) bool {
			if keep>>(i%64)&1 == 0 {
				return false
			}
			kept++
			return true
		})
		if err != nil || got == m {
			return
		}
		if err := json.Unmarshal([]byte(raw), &before); err != nil {
			t.Skip()
		}
		sameBut(t, before, got.Raw, member)
		var after map[string]json.RawMessage
		fail.On(t, json.Unmarshal(got.Raw, &after))
		for name, value := range after {
			var elements []json.RawMessage
			if strings.EqualFold(name, member) && json.Unmarshal(value, &elements) == nil && elements != nil && len(elements) != kept {
				t.Errorf("kept %d of %s, got %s", kept, raw, value)
			}
		}
	})
}

func sameBut(t *testing.T, before map[string]json.RawMessage, raw []byte, member string) {
	t.Helper()
	var after map[string]json.RawMessage
	if err := json.Unmarshal(raw, &after); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	for name, value := range before {
		if !strings.EqualFold(name, member) && string(after[name]) != string(value) {
			t.Errorf("%s changed in %s", name, raw)
		}
	}
}
