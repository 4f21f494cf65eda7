package archive

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// forge replaces text in the set manifest of sequence 1 and corrects its checksum.
func forge(t *testing.T, dir, from, to string) {
	t.Helper()
	file := filepath.Join(dir, setName(1))
	raw := contentOf(t, file)
	forged := bytes.ReplaceAll(raw, []byte(from), []byte(to))
	if bytes.Equal(raw, forged) {
		t.Fatalf("the set manifest has no %s", from)
	}
	err := errors.Join(os.WriteFile(file, forged, 0o644),
		os.WriteFile(filepath.Join(dir, sumName(1)), sum(setID{sequence: 1}, digest.FromBytes(forged)), 0o644))
	fail.On(t, err)
}

// TestPlanOfAnotherDigest checks that the plan is compared with the digest in the set manifest,
// even if its file is unchanged.
func TestPlanOfAnotherDigest(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	s.write(t, dir, Options{})
	forge(t, dir, `"plan":"`+string(digest.FromBytes(s.plan)), `"plan":"`+string(digest.FromString("another")))
	a := mustOpen(t, dir)
	_, read := readPlan(t.Context(), a)
	for what, err := range map[string]error{"reading": read, "Verify": a.Verify(t.Context(), nil)} {
		var damage *DamageError
		if !errors.As(err, &damage) || damage.Damage[0].Entry != planPath || !strings.Contains(err.Error(), "the plan in it is") {
			t.Errorf("%s = %v, want damage of %s", what, err, planPath)
		}
	}
}

// TestPlanDoesNotDecompress checks that a plan file that is not valid gzip is reported as damage,
// with any error of the decompressor.
func TestPlanDoesNotDecompress(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	s.write(t, dir, Options{})
	volume := filepath.Join(dir, setID{sequence: 1}.volume(1))
	raw := contentOf(t, volume)
	at := bytes.Index(raw, []byte{0x1f, 0x8b})
	if at < 0 {
		t.Fatal("no gzip in the volume")
	}
	for name, offset := range map[string]int{"the first byte": 0, "a byte in the middle": 20} {
		altered := bytes.Clone(raw)
		altered[at+offset] ^= 0x10
		fail.On(t, os.WriteFile(volume, altered, 0o644))
		a, err := Open(dir)
		fail.On(t, err)
		var damage *DamageError
		if _, err := readPlan(t.Context(), a); !errors.As(err, &damage) || !strings.Contains(err.Error(), "digest") {
			t.Errorf("%s: %v, want an error about the digest", name, err)
		}
		fail.On(t, a.Close())
	}
}

// TestPlanFails checks that if the plan cannot be written, Create returns an error and leaves
// nothing behind.
func TestPlanFails(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	c := s.content()
	broken := errors.New("no plan")
	c.Plan = func(io.Writer) error { return broken }
	if _, err := Create(t.Context(), dir, c, Options{}); !errors.Is(err, broken) {
		t.Errorf("Create = %v", err)
	}
}

// TestPlanBesideARepairWithAnother checks that the plan is still found if a repair has another file
// for it.
func TestPlanBesideARepairWithAnother(t *testing.T) {
	s, dir := newSample(1, 1000), t.TempDir()
	s.write(t, dir, Options{})
	other := newSample(2, 1000) // its plan, which the repair claims to be the plan of the set
	spare := t.TempDir()
	other.write(t, spare, Options{})
	forge(t, spare, `"plan":"`+string(digest.FromBytes(other.plan)), `"plan":"`+string(digest.FromBytes(s.plan)))
	a := mustOpen(t, dir)
	b := mustOpen(t, spare)
	// Treat spare as a repair of dir: its members come first.
	a.members = append(b.members, a.members...)
	a.indexEntries()
	if text, err := readPlan(t.Context(), a); err != nil || !bytes.Equal(text, s.plan) {
		t.Errorf("%q, %v", text, err)
	}
	fail.On(t, a.verifyPlan(t.Context()))
}

// TestKnownPlanIsNotWrittenAgain checks that a plan whose digest is given is not written only to find
// out that the folder has its archive, and that another digest leads to another archive.
func TestKnownPlanIsNotWrittenAgain(t *testing.T) {
	s, dir := newSample(1, 3000), t.TempDir()
	s.write(t, dir, Options{})
	c := s.content()
	c.PlanDigest = digest.FromBytes(s.plan)
	c.Plan = func(io.Writer) error { return errors.New("the plan was written") }
	w, err := Create(t.Context(), dir, c, Options{})
	fail.On(t, err)
	if err := w.Close(); err != nil || !w.Complete() {
		t.Errorf("complete: %t, %v", w.Complete(), err)
	}
	other := newSample(2, 3000).content()
	other.PlanDigest = digest.FromBytes([]byte(`{"plan":2}`))
	if w, err = Create(t.Context(), dir, other, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil || w.Complete() || w.Sequence() != 2 {
		t.Errorf("another plan: complete: %t, sequence %d, %v", w.Complete(), w.Sequence(), err)
	}
}
