package imageset_test

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// TestWarnedFiles compares the warnings about each file, and its conversion, if it has one.
func TestWarnedFiles(t *testing.T) {
	files := cases(t, "testdata/warned/*.txtar")
	for name := range maps.Keys(files) {
		base, ok := strings.CutSuffix(name, ".yaml")
		if !ok {
			continue
		}
		t.Run(base, func(t *testing.T) {
			c, err := imageset.Parse(name, files[name])
			fail.On(t, err)
			fail.Diff(t, string(files[base+".warn"]), lines(c.Warnings))
			if unusable := strings.Count(lines(c.Warnings), "planning will fail"); len(c.Unusable) != unusable || (c.Usable() == nil) != (unusable == 0) {
				t.Errorf("%d unusable, %v; want %d", len(c.Unusable), c.Usable(), unusable)
			}
			conversion, _ := checkConversion(t, files[name], c)
			want := files[name]
			if fixed, ok := files[base+".fixed"]; ok {
				want = fixed
			}
			fail.Diff(t, string(want), string(conversion.Text))
			windows := append([]byte("\ufeff"), bytes.ReplaceAll(files[name], []byte("\n"), []byte("\r\n"))...)
			if conversion, _ = checkConversion(t, windows, c); len(conversion.Changed) > 0 && string(want) != strings.ReplaceAll(string(conversion.Text), "\r\n", "\n") {
				t.Errorf("with Windows' lines: %s", cmp.Diff(string(want), string(conversion.Text)))
			}
		})
	}
}

func lines(problems []imageset.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

// checkConversion checks that the converted file is read as the same configuration, has only the
// warnings that the conversion lists as left, and is not changed by another conversion.
func checkConversion(t *testing.T, text []byte, c *imageset.Config) (*imageset.Conversion, *imageset.Config) {
	t.Helper()
	conversion, err := imageset.Convert("f", text)
	if err != nil {
		t.Fatalf("converting %q: %v", text, err)
	}
	if len(conversion.Changed)+len(conversion.Left) < len(c.Warnings) {
		t.Errorf("changed %v, left %v; the file has the warnings %v", conversion.Changed, conversion.Left, c.Warnings)
	}
	again, err := imageset.Parse("f", conversion.Text)
	if err != nil {
		t.Fatalf("%s: %v", conversion.Text, err)
	}
	if diff := cmp.Diff(c, again, patterns, noPositions, noWarnings); diff != "" {
		t.Errorf("%s is read as another configuration (-before +after):\n%s", conversion.Text, diff)
	}
	second, err := imageset.Convert("f", conversion.Text)
	fail.On(t, err)
	if string(second.Text) != string(conversion.Text) || len(second.Changed) > 0 {
		t.Errorf("the second conversion changes %v", second.Changed)
	}
	return conversion, again
}

func TestConvertErrors(t *testing.T) {
	var bad *imageset.Error
	if _, err := imageset.Convert("f.yaml", []byte("kind: ImageSetConfiguration\n")); !errors.As(err, &bad) {
		t.Errorf("got %v, want the problems of the file", err)
	}
	if _, err := imageset.Convert("f.yaml", []byte(strings.Repeat("#", 5<<20))); err == nil || errors.As(err, &bad) {
		t.Errorf("too large: %v", err)
	}
}

// TestWarningsBesideErrors checks that the error of a file has its warnings, too.
func TestWarningsBesideErrors(t *testing.T) {
	_, err := imageset.Parse("f.yaml", []byte("apiVersion: mirror.openshift.io/v1alpha2\nkind: ImageSetConfiguration\nmirror: {x: y}\n"))
	var bad *imageset.Error
	if !errors.As(err, &bad) || len(bad.Problems) != 1 || len(bad.Warnings) != 1 || bad.Warnings[0].Pos.Line != 1 {
		t.Errorf("got %v", err)
	}
}
