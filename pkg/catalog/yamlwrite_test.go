package catalog_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestYAML(t *testing.T) {
	m := &catalog.Meta{Raw: []byte(`{"schema":"olm.channel","name":"stable","package":"yes","entries":[{"name":"a.v1","skips":[]},{"name":"017"}],` +
		`"n":[12345678901234567890,1.50,-0,true,null],"text":"two\nlines\n","at":"2026-01-02","":"~","<<":"=","1:30":{},"tab":"\tx"}`)}
	got, err := m.YAML()
	fail.On(t, err)
	want := `schema: olm.channel
name: stable
package: "yes"
entries:
  - name: a.v1
    skips: []
  - name: "017"
"n":
  - 12345678901234567890
  - 1.50
  - -0
  - true
  - null
text: |
  two
  lines
at: "2026-01-02"
"": "~"
"<<": =
1:30: {}
tab: "\tx"
`
	fail.Diff(t, want, string(got))
}

// FuzzYAMLWrite checks that an object that is written as YAML is read as the same object: members,
// strings and numbers.
func FuzzYAMLWrite(f *testing.F) {
	for _, seed := range []string{
		`{"schema":"a"}`, `{"schema":"a","x":"yes","y":" a","z":"# b","q":"a: b"}`, `{"schema":"a","t":"a\n\n b\n\n\n","u":"\n","v":"a\r\nb","w":"é\u0007\u2028\ufeff"}`,
		`{"schema":"a","n":[1,1e400,-0.0,18446744073709551616,null,[[]],{}]}`, `{"schema":"a","!x":"&a","*b":"%c","- d":"|","?":"1:30","0x1f":"0o7"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(text []byte) *catalog.Catalog {
			c, err := catalog.Read(t.Context(), fstest.MapFS{"f": {Data: text}}, catalog.Options{})
			if err != nil || len(c.Others) != 1 || len(c.Packages) > 0 {
				return nil
			}
			return c
		}
		c := read(text)
		if c == nil {
			return
		}
		want, ok := value(c.Others[0].Raw)
		if !ok {
			return // a number that no reader of OLM accepts
		}
		out, err := c.Others[0].YAML()
		fail.On(t, err)
		again := read(append([]byte("---\n"), out...))
		if again == nil {
			t.Fatalf("%s\nis not read; from %s", out, c.Others[0].Raw)
		}
		got, _ := value(again.Others[0].Raw)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", out, diff)
		}
	})
}

// value returns a JSON text as a value, or false if a number exceeds float64.
func value(raw []byte) (any, bool) {
	var v any
	err := json.Unmarshal(raw, &v)
	return v, err == nil
}
