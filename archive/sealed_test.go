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
)

// A person has an age identity.
func person(t testing.TB) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// to encrypts to people.
func to(people ...*age.X25519Identity) *Encryption {
	e := &Encryption{Secret: []byte("of a workspace")}
	for _, p := range people {
		e.Recipients = append(e.Recipients, p.Recipient())
	}
	return e
}

// openAs opens the archive in dir with identities.
func openAs(t testing.TB, dir string, identities ...age.Identity) *Archive {
	t.Helper()
	a, err := OpenWith(OpenOptions{Identities: identities}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// readBack compares all content, read whole and from offsets.
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
			body, err := a.Blob(t.Context(), "", e, int64(from))
			if err != nil {
				t.Error(err)
				continue
			}
			raw, err := io.ReadAll(body)
			if err := errors.Join(err, body.Close()); err != nil || !bytes.Equal(raw, want[from:]) {
				t.Errorf("%s from %d: %d bytes, %v", e.Digest, from, len(raw), err)
			}
		}
	}
}

// secrets are texts that nobody may find on the medium.
func (s *sample) secrets() []string {
	all := []string{"the-name", "image0", "architecture", "schemaVersion", "mediaType", "AGE-SECRET-KEY", `"plan":1`, "sha512:"}
	for d, raw := range s.bytes {
		sum, _ := hex.DecodeString(d.Encoded())
		all = append(all, d.Encoded(), d.Encoded()[:noted], string(sum))
		if len(raw) > 16 {
			all = append(all, string(raw[:16]), string(raw[len(raw)-16:]))
		}
	}
	return append(all, string(s.plan))
}

// tells looks for secrets in all files of a folder, and in their names.
func tells(t testing.TB, dir string, secrets []string) {
	t.Helper()
	for name, raw := range folder(t, dir) {
		for _, secret := range secrets {
			if strings.Contains(name, secret) || strings.Contains(raw, secret) {
				t.Errorf("%s tells %.80q", name, secret)
			}
		}
	}
}

// An encrypted archive is read by its recipients, each alone, and tells nobody else
// anything.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sizes  []int
		volume int64
	}{
		"one volume":  {[]int{0, 1, 300, 5000, 70_000, 300_000}, 0},
		"parts":       {[]int{0, 9000, 40_000, 150_000, 300_000}, 64 << 10},
		"tiny":        {[]int{1, 12_000, 40_000}, minVolumeSize},
		"many chunks": {[]int{sealedChunk, sealedChunk - 1, sealedChunk + 1, 5 * sealedChunk}, 256 << 10},
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
				if err := a.Verify(t.Context(), nil); err != nil {
					t.Error(err)
				}
				if info := a.Newest(); info.Series != "the-name" || !info.Encrypted || info.Locked || !slices.Contains(info.Features, featureEncrypted) || info.Content != len(s.Entries) {
					t.Errorf("it says of itself %+v", info)
				}
			}
			var locked *LockedError
			if _, err := OpenWith(OpenOptions{Identities: []age.Identity{eve}}, dir); !errors.As(err, &locked) || len(locked.Kinds) != 2 || !strings.Contains(err.Error(), "to 2 recipients (X25519, X25519), and none of 1 identity opens gantry-000001.json") {
				t.Errorf("with another's identity: %v", err)
			}
			a := openAs(t, dir)
			if err := a.Verify(t.Context(), nil); err != nil {
				t.Errorf("whoever has no identity cannot verify it: %v", err)
			}
			if info := a.Newest(); info.Series != "" || info.Plan != "" || !info.Locked || info.Content != 0 {
				t.Errorf("it tells %+v", info)
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

// Recipients that withstand quantum computers get a set whose own key does, too.
func TestEncryptedHybrid(t *testing.T) {
	t.Parallel()
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	s, dir := newSample(1, 70_000, 5), t.TempDir()
	s.write(t, dir, Options{VolumeSize: 32 << 10, Encrypt: &Encryption{Recipients: []age.Recipient{id.Recipient()}}})
	a := openAs(t, dir, id)
	s.readBack(t, a)
	if !strings.HasPrefix(a.newest().outer.Encryption.Recipient, "age1pq1") {
		t.Error("the files are encrypted to another kind of key")
	}
	mixed := Options{Encrypt: &Encryption{Recipients: []age.Recipient{id.Recipient(), person(t).Recipient()}}}
	if _, err := Create(t.Context(), t.TempDir(), s.content(), mixed); err == nil || !strings.Contains(err.Error(), "post-quantum") {
		t.Errorf("mixed recipients: %v", err)
	}
}

// The place of every byte is known before: what is written is what space was asked
// for, and age itself reads each file, with the set's key.
func TestEncryptedIsAge(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 0, 5000, 70_000, 200_000), t.TempDir(), person(t)
	w, err := Create(t.Context(), dir, s.content(), Options{VolumeSize: 96 << 10, Encrypt: to(ann)})
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, v := range w.outer.Volumes {
		sizes[v.Name] = v.Size
	}
	s.put(t, w)
	if err := errors.Join(w.Finish(t.Context()), w.Close()); err != nil {
		t.Fatal(err)
	}
	for name, size := range sizes {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != size {
			t.Errorf("%s: %v, want %d bytes", name, err, size)
		}
	}
	a := openAs(t, dir, ann)
	m := a.newest()
	for i := range m.set.Volumes {
		raw, err := os.ReadFile(filepath.Join(dir, m.set.Volumes[i].Name))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.set.Volumes[i].Entries[1:] {
			file := raw[e.Sealed.Offset:][:e.Sealed.Size]
			plain, err := age.Decrypt(bytes.NewReader(file), m.key)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(plain)
			if err != nil || int64(len(text)) < e.Size || len(bytes.Trim(text[e.Size:], "\x00")) > 0 {
				t.Errorf("%s (%s): %d bytes for %d, %v", e.Sealed.Path, e.path(), len(text), e.Size, err)
				continue
			}
			at := int64(0)
			if e.Part != nil {
				at = e.Part.At
			}
			if want, ok := s.bytes[e.Digest]; ok && !bytes.Equal(text[:e.Size], want[at:at+e.Size]) {
				t.Errorf("%s is not %s", e.Sealed.Path, e.path())
			}
		}
	}
}

// Two hundred bits anywhere in the files of an encrypted archive: every one is found,
// with an identity and without.
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
	if found != 200 {
		t.Errorf("%d of 200 were found", found)
	}
}

// Damage costs the content that it is in, by its own digest, and no byte of it is
// given out.
func TestEncryptedDamage(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 300_000, 3000), t.TempDir(), person(t)
	s.write(t, dir, Options{Encrypt: to(ann)})
	a := openAs(t, dir, ann)
	large := s.Entries[1]
	e := places(a.blobs, large.Digest)[0].entry
	alter(t, filepath.Join(dir, volumeName(1, 1)), flip((e.Offset+e.Sealed.Size/2)*8))
	err := a.Verify(t.Context(), nil)
	var damage *DamageError
	if !errors.As(err, &damage) || !slices.Equal(damage.Lost(), []digest.Digest{large.Digest}) || damage.Damage[0].Entry != e.Sealed.Path {
		t.Errorf("Verify = %v, lost %v", err, damage.Lost())
	}
	body, err := a.Blob(t.Context(), "", large, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.Copy(io.Discard, body); !errors.As(err, &damage) || !strings.Contains(err.Error(), "does not decrypt") {
		t.Errorf("reading it: %v", err)
	}
}

// An encrypted set takes from a plain one in the folder what both have, and builds
// on sets of either kind.
func TestEncryptedSeries(t *testing.T) {
	t.Parallel()
	ann := person(t)
	for _, first := range []*Encryption{nil, to(ann)} {
		t.Run(fmt.Sprint("the first is encrypted: ", first != nil), func(t *testing.T) {
			dir := t.TempDir()
			one, both := newSample(1, 3000, 70_000), newSample(1, 3000, 70_000, 9000)
			one.write(t, dir, Options{Encrypt: first})
			have := openAs(t, dir, ann)
			base := &Base{Sets: []BaseSet{have.Newest().BaseSet}, Holds: func(d digest.Digest) bool {
				_, ok := one.bytes[d]
				return ok
			}, Where: func(digest.Digest) string { return "some/where" }}
			both.write(t, dir, Options{Base: base, Encrypt: to(ann)})
			a := openAs(t, dir, ann)
			both.readBack(t, a)
			if n := len(a.Sets()); n != 2 || a.Where(one.Entries[0].Digest) != "some/where" {
				t.Errorf("%d sets; %q", n, a.Where(one.Entries[0].Digest))
			}
			if first != nil {
				tells(t, dir, append(both.secrets(), "some/where"))
			}
			if err := openAs(t, dir).Verify(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	dir, s := t.TempDir(), newSample(1, 3000, 70_000)
	s.write(t, dir, Options{})
	w, err := Create(t.Context(), dir, s.content(), Options{Encrypt: to(ann), Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Entries {
		if err := w.PutBlob(t.Context(), "", e, func(context.Context, int64) (io.ReadCloser, error) {
			return nil, errors.New("it is fetched again")
		}); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(w.Finish(t.Context()), w.Close()); err != nil {
		t.Fatal(err)
	}
	tells(t, dir, s.secrets())
	s.readBack(t, openAs(t, dir, ann))
}

// A repair of an encrypted set is one, too.
func TestEncryptedRepair(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 3000, 70_000), t.TempDir(), person(t)
	s.write(t, dir, Options{Encrypt: to(ann)})
	a := openAs(t, dir, ann)
	info, lost := a.Newest(), s.Entries[1]
	e := places(a.blobs, lost.Digest)[0].entry
	alter(t, filepath.Join(dir, volumeName(1, 1)), flip(e.Offset*8))
	repair := &sample{Entries: []ocispec.Descriptor{lost}, bytes: s.bytes}
	repair.write(t, dir, Options{Repair: &Repair{BaseSet: info.BaseSet, Plan: info.Plan}, Encrypt: to(ann)})
	tells(t, dir, s.secrets())
	mended := openAs(t, dir, ann)
	s.readBack(t, mended)
	var damage *DamageError
	if err := mended.Verify(t.Context(), nil); !errors.As(err, &damage) || !damage.Healed() {
		t.Errorf("Verify = %v", err)
	}
}

// A volume that is not there is missed, also by who cannot read it.
func TestEncryptedMissing(t *testing.T) {
	t.Parallel()
	s, dir, ann := newSample(1, 30_000, 30_000), t.TempDir(), person(t)
	s.write(t, dir, Options{VolumeSize: 48 << 10, Encrypt: to(ann)})
	if err := os.Remove(filepath.Join(dir, volumeName(1, 2))); err != nil {
		t.Fatal(err)
	}
	for _, opts := range []OpenOptions{{}, {Identities: []age.Identity{ann}}} {
		var damage *DamageError
		if _, err := OpenWith(opts, dir); !errors.As(err, &damage) || damage.Damage[0].File != volumeName(1, 2) {
			t.Errorf("Open = %v", err)
		}
	}
	if err := os.Remove(filepath.Join(dir, setID{sequence: 1}.sealed())); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(dir); err == nil || !strings.Contains(err.Error(), "gantry-000001.json.age: missing") {
		t.Errorf("without the inner set manifest: %v", err)
	}
}

// The same content in the clear and encrypted has one plan for signatures: they are
// of what lies in the open, and cover the rest.
func TestEncryptedSigned(t *testing.T) {
	t.Parallel()
	ops := newScribe(t, "ops@example.com")
	s, dir, ann := newSample(1, 3000), t.TempDir(), person(t)
	s.write(t, dir, Options{Encrypt: to(ann), Sign: ops.sign})
	for _, identities := range [][]age.Identity{nil, {ann}} {
		a, err := OpenWith(OpenOptions{Signatures: ops.policy, Identities: identities}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if v := a.Signature(); !v.Trusted {
			t.Errorf("it is signed by %+v", v)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
