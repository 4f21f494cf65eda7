package archive

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// person returns a new age identity.
func person(t testing.TB) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	fail.On(t, err)
	return id
}

// to returns the encryption to people.
func to(people ...*age.X25519Identity) *Encryption {
	e := &Encryption{Secret: []byte("of a workspace")}
	e.Recipients = append(e.Recipients, elements.Map(people, func(p *age.X25519Identity) age.Recipient { return p.Recipient() })...)
	return e
}

// openAs opens the archive in dir with identities.
func openAs(t testing.TB, dir string, identities ...age.Identity) *Archive {
	t.Helper()
	a, err := OpenWith(OpenOptions{Identities: identities}, dir)
	fail.On(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// readBack reads all content, whole and from offsets, and compares it.
func (s *sample) readBack(t testing.TB, a *Archive) {
	t.Helper()
	plan, err := readPlan(t.Context(), a)
	if diff := cmp.Diff(string(s.plan), string(plan)); diff != "" || err != nil {
		t.Errorf("the plan: %s %v", diff, err)
	}
	for _, e := range s.Entries {
		want := s.bytes[e.Digest]
		for _, from := range []int{0, 1, len(want) / 2, len(want) - 1, len(want)} {
			if from < 0 || from > len(want) {
				continue
			}
			if raw, err := readBlob(t, a, e, int64(from)); err != nil || !bytes.Equal(raw, want[from:]) {
				t.Errorf("%s from %d: %d bytes, %v", e.Digest, from, len(raw), err)
			}
		}
	}
}

// secrets returns texts that must not be readable on the disk.
func (s *sample) secrets() []string {
	all := []string{"the-name", "image0", "architecture", "schemaVersion", "mediaType", "AGE-SECRET-KEY", `"plan":1`, "sha512:"}
	for d, raw := range s.bytes {
		sum, _ := hex.DecodeString(d.Encoded())
		all = append(all, d.Encoded(), d.Encoded()[:journalDigits], string(sum))
		if len(raw) > 16 {
			all = append(all, string(raw[:16]), string(raw[len(raw)-16:]))
		}
	}
	return append(all, string(s.plan))
}

// tells fails the test if a file in the folder, or its name, contains a secret.
func tells(t testing.TB, dir string, secrets []string) {
	t.Helper()
	for name, raw := range folder(t, dir) {
		for _, secret := range secrets {
			if strings.Contains(name, secret) || strings.Contains(raw, secret) {
				t.Errorf("%s contains %.80q", name, secret)
			}
		}
	}
}

// TestEncrypted checks that each recipient can read an encrypted archive, and that it reveals
// nothing to others.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sizes  []int
		volume int64
	}{
		"one volume":  {[]int{0, 1, 300, 5000, 70_000, 300_000}, 0},
		"parts":       {[]int{0, 9000, 40_000, 150_000, 300_000}, 64 << 10},
		"tiny":        {[]int{1, 12_000, 40_000}, minVolumeSize},
		"many chunks": {[]int{ageChunk, ageChunk - 1, ageChunk + 1, 5 * ageChunk}, 256 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newSample(1, tc.sizes...), t.TempDir()
			s.Name = "the-name"
			ann, bob, eve := person(t), person(t), person(t)
			s.write(t, dir, Options{VolumeSize: tc.volume, Encrypt: to(ann, bob)})
			tells(t, dir, s.secrets())
			for name, raw := range folder(t, dir) {
				if tc.volume > minVolumeSize && int64(len(raw)) > tc.volume && strings.HasSuffix(name, ".tar") {
					t.Errorf("%s has %d bytes", name, len(raw))
				}
			}
			for _, who := range []*age.X25519Identity{ann, bob} {
				a := openAs(t, dir, eve, who)
				s.readBack(t, a)
				fail.On(t, a.Verify(t.Context(), nil))
				if info := a.Selected(); info.Series != "the-name" || !info.Encrypted || info.NeedsIdentity || !slices.Contains(info.Features, featureEncrypted) || info.Content != len(s.Entries) {
					t.Errorf("the info is %+v", info)
				}
			}
			var locked *EncryptedError
			if _, err := OpenWith(OpenOptions{Identities: []age.Identity{eve}}, dir); !errors.As(err, &locked) || len(locked.RecipientKinds) != 2 || !strings.Contains(err.Error(), "to 2 recipients (X25519, X25519), and none of 1 identity opens gantry-000001.json") {
				t.Errorf("with another's identity: %v", err)
			}
			a := openAs(t, dir)
			fail.On(t, a.Verify(t.Context(), nil))
			if info := a.Selected(); info.Series != "" || info.Plan != "" || !info.NeedsIdentity || info.Content != 0 {
				t.Errorf("it reveals %+v", info)
			}
			if _, err := readPlan(t.Context(), a); !errors.As(err, &locked) || locked.Tried != 0 {
				t.Errorf("the plan without an identity: %v", err)
			}
			if _, err := a.Blob(t.Context(), "", s.Entries[0], 0); !errors.As(err, &locked) {
				t.Errorf("content without an identity: %v", err)
			}
		})
	}
}

// TestEncryptedHybrid checks that with post-quantum recipients, the set's own key is post-quantum
// too.
func TestEncryptedHybrid(t *testing.T) {
	t.Parallel()
	id, err := age.GenerateHybridIdentity()
	fail.On(t, err)
	s, dir := newSample(1, 70_000, 5), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 32 << 10, Encrypt: &Encryption{Recipients: []age.Recipient{id.Recipient()}}})
	a := openAs(t, dir, id)
	s.readBack(t, a)
	if !strings.HasPrefix(a.selected().outer.Encryption.Recipient, "age1pq1") {
		t.Error("the files are encrypted to another kind of key")
	}
	mixed := Options{Encrypt: &Encryption{Recipients: []age.Recipient{id.Recipient(), person(t).Recipient()}}}
	_, err = Create(t.Context(), t.TempDir(), s.content(), mixed)
	says(t, err, "post-quantum")
}

// TestEncryptedIsAge checks that the location of every byte is known beforehand, so that the size
// written is the size that was requested, and that age itself reads each file with the set's key.
func TestEncryptedIsAge(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 0, 5000, 70_000, 200_000), t.TempDir(), person(t)
	w, err := Create(t.Context(), dir, s.content(), Options{VolumeSize: 96 << 10, Encrypt: to(ann)})
	fail.On(t, err)
	sizes := map[string]int64{}
	for _, v := range w.outer.Volumes {
		sizes[v.Name] = v.Size
	}
	s.put(t, w)
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	for name, size := range sizes {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != size {
			t.Errorf("%s: %v, want %d bytes", name, err, size)
		}
	}
	a := openAs(t, dir, ann)
	m := a.selected()
	for i := range m.set.Volumes {
		raw := contentOf(t, filepath.Join(dir, m.set.Volumes[i].Name))
		for _, e := range m.set.Volumes[i].Entries[1:] {
			file := raw[e.Encrypted.Offset:][:e.Encrypted.Size]
			if e.Path == copyPath { // what is encrypted in it is an age file of its own
				continue
			}
			plain, err := age.Decrypt(bytes.NewReader(file), m.key)
			fail.On(t, err)
			text, err := io.ReadAll(plain)
			if err != nil || int64(len(text)) < e.Size || len(bytes.Trim(text[e.Size:], "\x00")) > 0 {
				t.Errorf("%s (%s): %d bytes for %d, %v", e.Encrypted.Path, e.path(), len(text), e.Size, err)
				continue
			}
			at := int64(0)
			if e.Part != nil {
				at = e.Part.At
			}
			if want, ok := s.bytes[e.Digest]; ok && !bytes.Equal(text[:e.Size], want[at:at+e.Size]) {
				t.Errorf("%s is not %s", e.Encrypted.Path, e.path())
			}
		}
	}
}

// TestEncryptedFlips flips 200 random bits in the files of an encrypted archive and checks that
// each is found, with and without an identity.
func TestEncryptedFlips(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 9000, 3000, 1, 0, 30_000), t.TempDir(), person(t)
	s.write(t, dir, Options{VolumeSize: 32 << 10, Encrypt: to(ann)})
	files, all := folder(t, dir), names(t, dir)
	random := rand.New(rand.NewPCG(5, 200)) // the same bits each time
	found := 0
	for i := range 200 {
		name := all[random.IntN(len(all))]
		bit := random.Int64N(int64(len(files[name])) * 8)
		undo := alter(t, filepath.Join(dir, name), flip(bit))
		opts := OpenOptions{}
		if i%2 == 0 {
			opts.Identities = []age.Identity{ann}
		}
		a, err := InspectWith(opts, dir)
		if err == nil {
			err = errors.Join(a.Verify(t.Context(), nil), a.Close())
		}
		undo()
		var damage *DamageError
		if !errors.As(err, &damage) || len(damage.Damage) != 1 || damage.Damage[0].File != name {
			t.Errorf("%s, bit %d: %v", name, bit, err)
			continue
		}
		found++
	}
	fail.Diff(t, 200, found)
}

// TestEncryptedDamage checks that damage loses only the content at that place, which is reported by
// its own digest, and that no byte of it is returned.
func TestEncryptedDamage(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 300_000, 3000), t.TempDir(), person(t)
	s.write(t, dir, Options{Encrypt: to(ann)})
	a := openAs(t, dir, ann)
	large := s.Entries[1]
	e := locations(a.blobs, large.Digest)[0].entry
	alter(t, filepath.Join(dir, volumeName(1, 1)), flip((e.Offset+e.Encrypted.Size/2)*8))
	err := a.Verify(t.Context(), nil)
	var damage *DamageError
	if !errors.As(err, &damage) || !slices.Equal(damage.Lost(), []digest.Digest{large.Digest}) || damage.Damage[0].Entry != e.Encrypted.Path {
		t.Errorf("Verify = %v, lost %v", err, damage.Lost())
	}
	if _, err := readBlob(t, a, large, 0); !errors.As(err, &damage) || !strings.Contains(err.Error(), "does not decrypt") {
		t.Errorf("reading it: %v", err)
	}
}

// TestEncryptedSeries checks that an encrypted set reuses the content it shares with a plain set in
// the folder, and builds on both encrypted and plain sets.
func TestEncryptedSeries(t *testing.T) {
	t.Parallel()
	ann := person(t)
	for _, first := range []*Encryption{nil, to(ann)} {
		t.Run(fmt.Sprint("the first is encrypted: ", first != nil), func(t *testing.T) {
			dir := t.TempDir()
			one, both := newSample(1, 3000, 70_000), newSample(1, 3000, 70_000, 9000)
			one.write(t, dir, Options{Encrypt: first})
			have := openAs(t, dir, ann)
			base := &Base{Sets: []state.SetRef{have.Selected().SetRef}, Has: func(d digest.Digest) bool {
				_, ok := one.bytes[d]
				return ok
			}, RepositoryOf: func(digest.Digest) string { return "some/where" }}
			both.write(t, dir, Options{Base: base, Encrypt: to(ann)})
			a := openAs(t, dir, ann)
			both.readBack(t, a)
			if n := len(a.Sets()); n != 2 || a.RepositoryOf(one.Entries[0].Digest) != "some/where" {
				t.Errorf("%d sets; %q", n, a.RepositoryOf(one.Entries[0].Digest))
			}
			if first != nil {
				tells(t, dir, append(both.secrets(), "some/where"))
			}
			fail.On(t, openAs(t, dir).Verify(t.Context(), nil))
		})
	}
	dir, s := t.TempDir(), newSample(1, 3000, 70_000)
	s.write(t, dir, Options{})
	w, err := Create(t.Context(), dir, s.content(), Options{Encrypt: to(ann), Replace: true})
	fail.On(t, err)
	for _, e := range s.Entries {
		if err := w.PutBlob(t.Context(), "", e, func(context.Context, int64) (io.ReadCloser, error) {
			return nil, errors.New("it is fetched again")
		}); err != nil {
			t.Error(err)
		}
	}
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	tells(t, dir, s.secrets())
	s.readBack(t, openAs(t, dir, ann))
}

// TestEncryptedRepair checks that a repair of an encrypted set is encrypted too.
func TestEncryptedRepair(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 3000, 70_000), t.TempDir(), person(t)
	s.write(t, dir, Options{Encrypt: to(ann)})
	a := openAs(t, dir, ann)
	info, lost := a.Selected(), s.Entries[1]
	e := locations(a.blobs, lost.Digest)[0].entry
	alter(t, filepath.Join(dir, volumeName(1, 1)), flip(e.Offset*8))
	repair := &sample{Entries: []ocispec.Descriptor{lost}, bytes: s.bytes}
	repair.write(t, dir, Options{Repair: &Repair{SetRef: info.SetRef, Plan: info.Plan}, Encrypt: to(ann)})
	tells(t, dir, s.secrets())
	repaired := openAs(t, dir, ann)
	s.readBack(t, repaired)
	var damage *DamageError
	if err := repaired.Verify(t.Context(), nil); !errors.As(err, &damage) || !damage.Recoverable() {
		t.Errorf("Verify = %v", err)
	}
}

// TestEncryptedMissing checks that a missing volume is reported, with and without an identity.
func TestEncryptedMissing(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 30_000, 30_000), t.TempDir(), person(t)
	s.write(t, dir, Options{VolumeSize: 48 << 10, Encrypt: to(ann), withoutCopy: true})
	fail.On(t, os.Remove(filepath.Join(dir, volumeName(1, 2))))
	for _, opts := range []OpenOptions{{}, {Identities: []age.Identity{ann}}} {
		var damage *DamageError
		if _, err := OpenWith(opts, dir); !errors.As(err, &damage) || damage.Damage[0].File != volumeName(1, 2) {
			t.Errorf("Open = %v", err)
		}
	}
	fail.On(t, os.Remove(filepath.Join(dir, setID{sequence: 1}.inner())))
	_, err := Inspect(dir)
	says(t, err, "gantry-000001.json.age: missing")
}

// TestEncryptedSigned checks that the signature of an encrypted set can be verified with and
// without an identity. It signs the unencrypted part, which covers the rest.
