package fileartifact_test

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
)

func TestCheckNewName(t *testing.T) {
	for _, name := range []string{"oc", "console.txt", "com.tar", "com10", "lpt", "auxiliary/nul-1", "gr\u00f6\u00dfe", "company/con1"} {
		if err := fileartifact.CheckNewName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, message := range map[string]string{
		"CON": "reserved by Windows", "a/NUL.txt": `the part "NUL.txt" of the name`, "aux .tar.gz": "reserved", "com1": "reserved", "LPT\u00b9": "reserved",
		"conIN$": "reserved", "gro\u0308\u00dfe": `\u0308`, "../x": "not a relative name",
	} {
		if err := fileartifact.CheckNewName(name); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v, expected %q", name, err, message)
		}
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		names   []string
		message string
	}{
		{[]string{"a", "b/a", "b/c", "a-b", "A2", "b/c.d/e"}, ""},
		{[]string{"a", "a"}, `two files have the name "a"`},
		{[]string{"Tools/oc", "tools/OC"}, `the files "Tools/oc" and "tools/OC" have one name on systems that ignore case`},
		{[]string{"gr\u00f6\u00dfe", "GRO\u0308\u1e9eE"}, "ignore case"},
		{[]string{"\u212a", "k"}, "ignore case"}, // the Kelvin sign
		{[]string{"a", "a/b"}, `"a" cannot be a file, because it is the folder of "a/b"`},
		{[]string{"a/b/c", "x", "A"}, `"A" cannot be a file, because it is the folder of "a/b/c"`},
		{[]string{"a/b", "a/b/c/d"}, `"a/b" cannot be a file, because it is the folder of "a/b/c/d"`},
	} {
		var names fileartifact.Names
		var got string
		for i, name := range tc.names {
			if err := names.Add(name); err != nil {
				got = err.Error()
				if i != len(tc.names)-1 {
					t.Errorf("%q: %s was refused", tc.names, name)
				}
			}
		}
		if tc.message == "" && got != "" || !strings.Contains(got, tc.message) {
			t.Errorf("%q: %q, expected %q", tc.names, got, tc.message)
		}
	}
}
