package archive

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// TestFlipThatIsNotNeeded flips bits of an encrypted set with parity files. All content is read as an import does: either
// that fails, or what was altered is not in what Reading says was read.
func TestFlipThatIsNotNeeded(t *testing.T) {
	t.Parallel()
	who, dir := person(t), t.TempDir()
	s := newSample(1, 9000, 3000, 1, 0, 700, 120_000, 511, 300_000, 900_000, 500_000)
	s.write(t, dir, Options{VolumeSize: 800 << 10, Redundancy: 40, Encrypt: to(who)})
	read := func() (Reading, error) {
		a, err := OpenWith(OpenOptions{Identities: []age.Identity{who}}, dir)
		if err != nil {
			return Reading{}, err
		}
		defer a.Close()
		for d, raw := range s.bytes {
			if _, err := readBlob(t, a, ocispec.Descriptor{Digest: d, Size: int64(len(raw))}, 0); err != nil {
				return Reading{}, err
			}
		}
		return a.Reading(), nil
	}
	whole, err := read()
	var content int64
	for _, raw := range s.bytes {
		content += int64(len(raw))
	}
	if err != nil || whole.Read != content || whole.Size <= content || whole.ParityFiles == 0 || whole.Repaired != nil {
		t.Fatalf("%+v of %d bytes, %v", whole, content, err)
	}
	files := folder(t, dir)
	volumes := elements.Filter(names(t, dir), func(name string) bool { return strings.HasSuffix(name, ".tar") })
	random := rand.New(rand.NewPCG(8, 500)) // the same bits each time
	missed, flips := 0, sparsely(400, 60)
	for range flips {
		name := volumes[random.IntN(len(volumes))]
		undo := alter(t, filepath.Join(dir, name), flip(random.Int64N(int64(len(files[name]))*8)))
		if r, err := read(); err == nil {
			missed++
			if r.Size-r.Read == 0 {
				t.Errorf("%s: a flip was not noticed, although all was read: %+v", name, r)
			}
		}
		undo()
	}
	if missed > flips/4 {
		t.Errorf("%d of %d flips were not noticed", missed, flips)
	}
}
