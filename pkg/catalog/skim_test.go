package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// FuzzSkim checks that skimming finds the same parts of JSON as parsing, and terminates for any
// other text.
func FuzzSkim(f *testing.F) {
	names, err := filepath.Glob("testdata/quirks/*.json")
	fail.On(f, err)
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	for _, text := range []string{
		`{}`, ` [ ] `, `{"a":1,"b":[{},[],"]"],"c":"\"}","d":null}`, `[1 , -2.5e3,true,"\\", {"\u0061" : "\\\""} ]`,
		`{"a"`, `{"a":`, `{"a":}`, `[1`, `["`, `{"a":1,}`, `[,]`, `{"a" "b"}`, `}`, `"`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var parse, skim scanner
		members, err := parse.object(text)
		got, skimErr := skim.skimMembers(text)
		if err == nil && (skimErr != nil || !slices.Equal(members, got)) {
			t.Errorf("%q: got members %v and %v, want %v", text, got, skimErr, members)
		}
		if errors.Is(err, errNotObject) && skimErr == nil {
			t.Errorf("%q: got members %v", text, got)
		}
		elems, err := parse.array(text)
		spans, skimErr := skim.skimElements(text)
		if err == nil && (skimErr != nil || !slices.Equal(elems, spans)) {
			t.Errorf("%q: got elements %v and %v, want %v", text, spans, skimErr, elems)
		}
	})
}
