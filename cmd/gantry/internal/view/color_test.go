package view

import "testing"

// TestHighlight checks that only the words of problems get color, and that they stay.
func TestHighlight(t *testing.T) {
	for text, want := range map[string]string{
		"not mirrored: quay.io/a/b:v1\n    not found":      "\x1b[31mnot mirrored:\x1b[0m quay.io/a/b:v1\n    not found",
		"withheld: catalog x":                              "\x1b[33mwithheld:\x1b[0m catalog x",
		"gantry: 3 images are not at the mirror":           "\x1b[31mgantry:\x1b[0m 3 images are not at the mirror",
		"a v1 (classic): STRANDED\n":                       "a v1 (classic): \x1b[31mSTRANDED\x1b[0m\n",
		"  4.18.1 -> 4.19.2  NO   -\n":                     "  4.18.1 -> 4.19.2  \x1b[31mNO\x1b[0m   -\n",
		"Missing at the source\n  a\nMissing\n":            "\x1b[31mMissing at the source\x1b[0m\n  a\n\x1b[31mMissing\x1b[0m\n",
		"b: NOT MIRRORED":                                  "b: \x1b[33mNOT MIRRORED\x1b[0m",
		"Mirrored to file://d: 2 images, not mirrored: -1": "Mirrored to file://d: 2 images, not mirrored: -1",
		"planning NOTES.yaml with a gantry: file":          "planning NOTES.yaml with a gantry: file",
	} {
		if got := Highlight(text); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", text, got, want)
		}
	}
}
