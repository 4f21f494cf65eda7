package catalog_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestStream checks that a stream has the objects that Read returns, each once, in the order of the
// files.
func TestStream(t *testing.T) {
	fsys := os.DirFS("testdata/quirks")
	type place struct {
		file string
		line int
	}
	var places []place
	var got []*catalog.Meta
	for range 2 {
		got = nil
		if err := catalog.Stream(t.Context(), fsys, func(m *catalog.Meta) error {
			got = append(got, m)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		now := elements.Map(got, func(m *catalog.Meta) place { return place{m.File, m.Line} })
		if places != nil && !slices.Equal(now, places) {
			t.Errorf("got %v, then %v", places, now)
		}
		places = now
	}
	if !slices.IsSortedFunc(places, func(a, b place) int {
		return strings.Compare(a.file, b.file)*2 + compare(a.line, b.line)
	}) {
		t.Errorf("got the order %v", places)
	}
	streamed, err := catalog.New(got)
	fail.On(t, err)
	fail.Diff(t, objects(quirks(t, catalog.Options{})), objects(streamed))
}

func compare(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestStreamErrors(t *testing.T) {
	fsys := fstest.MapFS{
		"a.json":         {Data: []byte("{}\n{\"schema\": \"a\"}\n{\"schema\": \"b\"}\n")},
		"b.yaml":         {Data: []byte("schema: c\n---\nx: y\n---\nschema: d\n")},
		"c.md":           {Data: []byte("# not a catalog")},
		"d/.indexignore": {Data: []byte("*")},
		"d/e":            {Data: []byte("x")},
		"z/.indexignore": {Data: []byte("\n")},
		".indexignore":   {Data: []byte("*.md\n")},
	}
	var schemas string
	err := catalog.Stream(t.Context(), fsys, func(m *catalog.Meta) error {
		schemas += m.Schema
		return nil
	})
	var found *catalog.Error
	if !errors.As(err, &found) || len(found.Problems) != 2 || found.Problems[0].Line != 1 || found.Problems[1].File != "b.yaml" {
		t.Errorf("got %v", err)
	}
	fail.Diff(t, "abcd", schemas)

	stop := errors.New("enough")
	for _, last := range []string{"a", "b", "c", "d"} {
		schemas = ""
		err = catalog.Stream(t.Context(), fsys, func(m *catalog.Meta) error {
			schemas += m.Schema
			if m.Schema == last {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || !strings.HasSuffix(schemas, last) {
			t.Errorf("stopped at %s, and got %s and %v", last, schemas, err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fail.Diff(t, context.Canceled, catalog.Stream(ctx, fsys, nil), cmpopts.EquateErrors())
	if err := catalog.Stream(t.Context(), fstest.MapFS{}, nil); err == nil {
		t.Error("an empty folder was accepted")
	}
}
