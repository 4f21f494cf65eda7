package flips

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

func TestMain(m *testing.M) { mirrortest.Run(m) }

// limit is how long reading may take after a flip.
const limit = time.Minute

// flipsOf returns how many flips a test makes: a few, more with make test-long, or all if $GANTRY_FLIPS names the file for
// the report.
func flipsOf(t *testing.T, few, more, all int) int {
	t.Helper()
	short := mirrortest.Short(t)
	switch {
	case os.Getenv("GANTRY_FLIPS") != "":
		return all
	case short:
		return few
	}
	return more
}

// TestArchives flips bits of archives of every kind and reads them in every way.
func TestArchives(t *testing.T) {
	t.Parallel()
	total := flipsOf(t, 15, 60, 500)
	s := newSource(t)
	var cells [][2]int
	for k, kind := range kinds() {
		if testing.Short() && !kind.short {
			continue
		}
		for w, way := range (&archived{}).ways() {
			if kind.fits(way.name) {
				cells = append(cells, [2]int{k, w})
			}
		}
	}
	r := &report{title: "archives"}
	t.Run("kinds", func(t *testing.T) {
		for k, kind := range kinds() {
			if testing.Short() && !kind.short {
				continue
			}
			t.Run(kind.name, func(t *testing.T) {
				t.Parallel()
				a := s.write(t, kind)
				for i := range total {
					if cell := cells[i%len(cells)]; cell[0] == k {
						a.flip(t, a.ways()[cell[1]], i, r)
					}
				}
			})
		}
	})
	r.write(t, total)
}

// An archived is an archive of a kind, with what is read from it if no bit differs.
type archived struct {
	*source
	kind
	folders []string // of the archive and of those that it builds on
	files   map[string][]byte
	places  map[string][]place
	want    *content
	listed  string
	plan    string       // the file of the plan of a layout, which says which names its index has
	warned  bytes.Buffer // what was logged by those who opened it
}

// flip flips one bit, reads the archive in one way, and checks the result.
func (a *archived) flip(t *testing.T, w way, seed int, r *report) {
	t.Helper()
	p, bit := choose(a.places, rand.New(rand.NewPCG(1, uint64(seed))))
	name := fmt.Sprintf("flip %d of %s, %s: %s: bit %d of %s", seed, a.name, w.name, p.name, bit, p.file)
	a.change(t, p.file, bit)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	a.warned.Reset()
	said, wrong := w.read(ctx, t, fmt.Sprintf("%s-%s-%d", strings.ReplaceAll(a.name, " ", ""), w.name, seed))
	result := outcome(said)
	if said == nil && a.warned.Len() > 0 {
		result = "right with a warning"
	}
	switch {
	case ctx.Err() != nil:
		wrong = errors.Join(wrong, ctx.Err())
	case said == nil && w.finds && filepath.Base(p.file) != "index.json": // a layout has no checksum of its index
		wrong = errors.Join(wrong, errors.New("the flip is not found"))
	case result == "":
		wrong = errors.Join(wrong, errors.New("the error has neither a kind nor a hint"))
	case said != nil && a.rescued(w, p):
		wrong = errors.Join(wrong, fmt.Errorf("it can be read without this place, and: %w", said))
	}
	if wrong != nil {
		t.Errorf("%s: %v (the verb: %v)", name, wrong, said)
		result = "FAILED"
	}
	t.Logf("%s: %s: %v", name, result, said)
	r.add(a.name, w.name, result)
	a.undo(t, w)
}

// change changes a bit of a file.
func (a *archived) change(t *testing.T, file string, bit int64) {
	t.Helper()
	text := bytes.Clone(a.files[file])
	text[bit/8] ^= 1 << (bit % 8)
	fail.On(t, os.WriteFile(file, text, 0o644))
}

// undo writes the files as they were. What reads an archive changes nothing in it.
func (a *archived) undo(t *testing.T, w way) {
	t.Helper()
	now := readFolders(t, a.folders...)
	if names := slices.Sorted(maps.Keys(now)); !w.writes && !slices.Equal(names, slices.Sorted(maps.Keys(a.files))) {
		t.Errorf("after %s, the archive has the files %q", w.name, names)
	}
	for name := range now {
		if a.files[name] == nil {
			fail.On(t, os.Remove(name))
		}
	}
	for name, text := range a.files {
		if !bytes.Equal(now[name], text) {
			fail.On(t, os.WriteFile(name, text, 0o644))
		}
	}
}

// outcome returns how a verb ended, for the report.
func outcome(err error) string {
	if err == nil {
		return "right"
	}
	if advice.KindOf(err) == advice.Failure && advice.Hint(err) != "" {
		return "refused with a hint"
	}
	return map[advice.Kind]string{advice.Mismatch: "damaged", advice.Partial: "partly damaged", advice.Input: "refused"}[advice.KindOf(err)]
}

// readFolders returns the bytes of all files in folders, and below.
func readFolders(t *testing.T, folders ...string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, folder := range folders {
		fail.On(t, filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			all[name], err = os.ReadFile(name)
			return err
		}))
	}
	return all
}

// A content is what a mirror or a layout has.
type content struct {
	repositories []registrytest.Repository
}

// contentOf returns the content of the mirror below a prefix, after it was read and compared with its digests.
func (s *source) contentOf(ctx context.Context, t *testing.T, prefix string) (*content, error) {
	t.Helper()
	c := &content{}
	var problems []error
	for _, r := range mirrortest.ContentBelow(t, s.Mirror, prefix) {
		problems = append(problems, s.Mirror.Client().CheckRepository(ctx, r))
		r.Name, r.Uploads = strings.TrimPrefix(r.Name, prefix+"/"), 0
		c.repositories = append(c.repositories, r)
	}
	return c, errors.Join(problems...)
}

// same returns an error if a mirror has other content.
func (c *content) same(other *content) error {
	if diff := cmp.Diff(c.repositories, other.repositories); diff != "" {
		return fmt.Errorf("it differs (-want +got):\n%s", diff)
	}
	return nil
}
