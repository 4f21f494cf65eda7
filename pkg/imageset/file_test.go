package imageset_test

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// TestFileWithoutChecksum checks that a file with an address needs a checksum, and that an empty one is none.
func TestFileWithoutChecksum(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n  files:\n  - url: https://a.example.com/a.iso\n"
	for text, want := range map[string]string{
		"":                     `field "sha256" is missing`,
		"    sha256:\n":        `field "sha256" is missing`,
		"    sha256: ''\n":     `field "sha256" is missing`,
		"    sha256: ~\n":      `field "sha256" is missing`,
		"    sha256: 12\n":     "found the number 12",
		"    sha256: {a: b}\n": "found a mapping",
		"    sha256: abcdef\n": "is not a SHA-256",
		"    sha256: " + strings.Repeat("a", 64) + "\n": "",
	} {
		c, err := imageset.Parse("a.yaml", []byte(head+text))
		if err == nil {
			err = c.Usable()
		}
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestTargetOfFile checks that an empty target is none, and that spaces around one are no part of a name.
func TestTargetOfFile(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: mirror.openshift.io/v2alpha1\nkind: ImageSetConfiguration\nmirror:\n  files:\n  - path: a.iso\n    target: "
	for target, want := range map[string]string{
		`""`: "target is empty", "~": "target is empty", `"x "`: "has leading or trailing space", `" x"`: "has leading or trailing space",
		`"x."`: "has a space or a dot at its end", `"a/x "`: "has leading or trailing space", `"a /x"`: "has a space or a dot at its end", "[x]": "found a list", "x": "", ".bashrc": "",
	} {
		c, err := imageset.Parse("a.yaml", []byte(head+target+"\n"))
		if err == nil {
			err = c.Usable()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}
