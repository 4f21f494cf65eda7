package density

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const n = 300_000
	for name, tc := range map[string]struct {
		text   string
		dense  bool
		repeat int
	}{
		"objects":           {"{},", true, n},
		"lists":             {"[],", true, n},
		"nested lists":      {"- - - - 1\n", true, n},
		"keys":              {"? 1\n", true, n},
		"lines":             {"a:\n", true, n},
		"few":               {"{},", false, 10_000},
		"one long text":     {"abcdefghij", false, n},
		"verbs of a role":   {"      - get\n      - list\n", false, n},
		"lines of YAML":     {"  - type: olm.gvk\n    value:\n      group: a.io\n", false, n},
		"indented JSON":     {"  {\n    \"name\": \"a\",\n    \"image\": \"quay.io/a/b\"\n  },\n", false, n},
		"JSON of one line":  {`{"name":"a","image":"quay.io/a/b"},`, false, n},
		"numbers of a list": {"1,", true, n},
	} {
		if err := Check([]byte(strings.Repeat(tc.text, tc.repeat))); (err != nil) != tc.dense {
			t.Errorf("%s: %v", name, err)
		}
	}
}
