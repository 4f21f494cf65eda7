package escape

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{\"a\":\"plain ö 東 \u00a0\"}\n":            "{\"a\":\"plain ö 東 \u00a0\"}\n",
		"\"\u009b1m\u202ex\x7f\u2066\u200f\u2028\"": `"\u009b1m\u202ex\u007f\u2066\u200f\u2028"`,
		"\"\xff\u0085\"":                            "\"\xff\\u0085\"",
	} {
		if got := string(JSON([]byte(in))); got != want {
			t.Errorf("JSON(%q) = %q, want %q", in, got, want)
		}
		var b strings.Builder
		if n, err := Writer(&b).Write([]byte(in)); n != len(in) || err != nil || b.String() != want {
			t.Errorf("Write(%q) = %d, %v, wrote %q", in, n, err, b.String())
		}
	}
}

// FuzzJSON checks that the value stays the same and that nothing unsafe is left.
func FuzzJSON(f *testing.F) {
	f.Add("a\u009b\u202e\x00\\")
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		text, err := json.Marshal(s)
		fail.On(t, err)
		escaped := JSON(text)
		var back string
		if err := json.Unmarshal(escaped, &back); err != nil || back != s || Contains(string(escaped)) {
			t.Errorf("%q became %q: %v", s, escaped, err)
		}
	})
}
