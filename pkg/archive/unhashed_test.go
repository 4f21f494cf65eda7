package archive

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"filippo.io/age"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// readUnhashed reads content from an offset without comparing it with its digest.
func readUnhashed(t *testing.T, a *Archive, desc ocispec.Descriptor, offset int64) ([]byte, error) {
	t.Helper()
	body, err := a.UnhashedBlob(t.Context(), "", desc, offset)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// TestUnhashedBlob checks that content is the same whether it is hashed or not, also in parts,
// encrypted, and from the middle.
func TestUnhashedBlob(t *testing.T) {
	id := person(t)
	for name, opts := range map[string]Options{
		"one volume": {},
		"in parts":   small,
		"encrypted":  {VolumeSize: 16 << 10, Encrypt: &Encryption{Recipients: []age.Recipient{id.Recipient()}}},
	} {
		s, dir := newSample(1, 50000, 9000), t.TempDir()
		s.write(t, dir, opts)
		a, err := OpenWith(OpenOptions{Identities: []age.Identity{id}}, dir)
		fail.On(t, err)
		for _, e := range s.Entries {
			want := s.bytes[e.Digest]
			for _, offset := range []int64{0, e.Size / 3, e.Size} {
				if got, err := readUnhashed(t, a, e, offset); err != nil || !slices.Equal(got, want[offset:]) {
					t.Errorf("%s: %s from %d: %d bytes, %v", name, e.Digest, offset, len(got), err)
				}
			}
		}
		if _, err := readUnhashed(t, a, ocispec.Descriptor{Digest: s.Entries[0].Digest, Size: 1}, 0); err == nil {
			t.Errorf("%s: content of another size was returned", name)
		}
		fail.On(t, a.Close())
	}
}

// TestUnhashedDamage checks what is noticed of damage without a digest: altered bytes are not, but the
// altered content is found when it is hashed, and content that is cut off is damage in both cases.
func TestUnhashedDamage(t *testing.T) {
	s, dir := newSample(1, 9000), t.TempDir()
	s.write(t, dir, Options{})
	a := mustOpen(t, dir)
	v := a.set.Volumes[0]
	i := slices.IndexFunc(v.Entries, func(e entry) bool { return e.Size == 9000 })
	e := &v.Entries[i]
	desc := descriptorOf(e)
	undo := alter(t, filepath.Join(dir, v.Name), flip(8*(e.Offset+100)))
	if got, err := readUnhashed(t, a, desc, 0); err != nil || slices.Equal(got, s.bytes[e.Digest]) {
		t.Errorf("altered content: %d bytes, %v", len(got), err)
	}
	var damage *DamageError
	if _, err := readBlob(t, a, desc, 0); !errors.As(err, &damage) || damage.Damage[0].Offset != e.Offset {
		t.Errorf("altered content, hashed: %v", err)
	}
	undo()
	alter(t, filepath.Join(dir, v.Name), func(b []byte) []byte { return b[:e.Offset+5000] })
	damage = nil
	if got, err := readUnhashed(t, a, desc, 0); !errors.As(err, &damage) || len(got) > 5000 || damage.Damage[0].Offset != e.Offset {
		t.Errorf("content that is cut off: %d bytes, %v", len(got), err)
	}
}
