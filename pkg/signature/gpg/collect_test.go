package gpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A web maps addresses to content or an error.
type web struct {
	there map[string]any
	asked []string
}

func (w *web) Get(ctx context.Context, url, _ string, limit int64) ([]byte, error) {
	w.asked = append(w.asked, url)
	switch v := w.there[url].(type) {
	case []byte:
		if int64(len(v)) > limit {
			return nil, fmt.Errorf("more than %d bytes", limit)
		}
		return v, nil
	case error:
		return nil, v
	case context.CancelFunc:
		v()
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("GET %s: %w", url, fs.ErrNotExist)
}

// The signature stores of the tests.
const a, b = "https://a.example.com/signatures", "http://b.example.com/"

func TestCollect(t *testing.T) {
	first, second := signers()[0], signers()[1]
	older := first.sign(t, text(image), signed.Add(-time.Hour), 0)
	newer := first.sign(t, text(image), signed, 0)
	other := second.sign(t, text(image), signed.Add(-time.Minute), 0)
	down := errors.New("connection refused")

	t.Run("one keyring", func(t *testing.T) {
		w := &web{there: map[string]any{
			address(a, image, 1): []byte("<html>"),
			address(a, image, 2): newer,
			address(a, image, 3): []byte{},
			address(a, image, 4): down,
			address(a, image, 5): make([]byte, MaxSize+1),
			address(a, image, 6): older,
			address(a, image, 8): other, // after a gap
			address(b, image, 1): newer,
			address(b, image, 2): other,
		}}
		got, err := Collect(t.Context(), w, []string{a, b}, image, []Keyring{first.keyring}, now)
		fail.On(t, err)
		want := []Signature{
			{Body: older, Key: first.keyring.Fingerprints()[0], Created: signed.Add(-time.Hour), Reference: "quay.io/org/release:4.99.0-x86_64", Source: address(a, image, 6)},
			{Body: newer, Key: first.keyring.Fingerprints()[0], Created: signed, Reference: "quay.io/org/release:4.99.0-x86_64", Source: address(a, image, 2)},
		}
		fail.Diff(t, want, got)
		var asked []string
		for n := 1; n <= 7; n++ {
			asked = append(asked, address(a, image, n))
		}
		for n := 1; n <= 3; n++ {
			asked = append(asked, address(b, image, n))
		}
		fail.Diff(t, asked, w.asked)
		// The order of the stores does not change the signatures.
		again, err := Collect(t.Context(), w, []string{b, a}, image, []Keyring{first.keyring}, now)
		if err != nil || len(again) != 2 || !bytes.Equal(again[0].Body, older) || !bytes.Equal(again[1].Body, newer) {
			t.Error(again, err)
		}
	})
	t.Run("each keyring in another store", func(t *testing.T) {
		w := &web{there: map[string]any{address(a, image, 1): newer, address(b, image, 1): other}}
		got, err := Collect(t.Context(), w, []string{a, b}, image, []Keyring{first.keyring, second.keyring}, now)
		if err != nil || len(got) != 2 || !bytes.Equal(got[0].Body, other) || !bytes.Equal(got[1].Body, newer) {
			t.Errorf("%d signatures: %v", len(got), err)
		}
	})
	t.Run("a keyring is left over", func(t *testing.T) {
		w := &web{there: map[string]any{address(a, image, 1): newer, address(a, image, 2): []byte("?"), address(b, image, 1): down}}
		_, err := Collect(t.Context(), w, []string{a, b}, image, []Keyring{first.keyring, second.keyring}, now)
		if !errors.Is(err, down) || errors.Is(err, release.ErrUnsigned) || !refused(err) {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`the image %s is not trusted: no signature satisfies the keyring second:
%s: not an OpenPGP message: openpgp: invalid data: tag byte does not have MSB set
%s: connection refused`, image, address(a, image, 2), address(b, image, 1))
		fail.Diff(t, want, err.Error())
	})
	t.Run("no signature store", func(t *testing.T) {
		w := &web{there: map[string]any{address(a, image, 1): newer, address(b, image, 1): down}}
		for _, keyrings := range [][]Keyring{{second.keyring}, {first.keyring, second.keyring}} {
			_, err := Collect(t.Context(), w, []string{b}, image, keyrings, now)
			if !errors.Is(err, down) || refused(err) {
				t.Error(err)
			}
		}
		_, err := Collect(t.Context(), w, []string{a, b}, image, []Keyring{first.keyring, second.keyring}, now)
		if !errors.Is(err, down) || refused(err) {
			t.Error("one keyring is satisfied:", err)
		}
		if _, err = Collect(t.Context(), w, []string{a, b}, image, []Keyring{second.keyring}, now); !refused(err) {
			t.Error("a signature by another key is accepted:", err)
		}
	})
}

// TestCollectNothing checks which error it is if no store has a signature that satisfies a keyring.
func TestCollectNothing(t *testing.T) {
	first, second := signers()[0], signers()[1]
	other := second.sign(t, text(image), signed.Add(-time.Minute), 0)
	down := errors.New("connection refused")
	for name, found := range map[string]any{"a bad one": []byte("?"), "another's": other, "a store that is down": down} {
		t.Run("nothing but "+name, func(t *testing.T) {
			w := &web{there: map[string]any{address(b, image, 1): found}}
			if _, err := Collect(t.Context(), w, []string{a, b}, image, []Keyring{first.keyring}, now); err == nil || errors.Is(err, release.ErrUnsigned) {
				t.Errorf("the image is reported as unsigned: %v", err)
			}
		})
	}
	t.Run("nothing anywhere", func(t *testing.T) {
		_, err := Collect(t.Context(), &web{}, []string{a, b}, image, []Keyring{first.keyring}, now)
		if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, release.ErrUnsigned) || !refused(err) || strings.Count(err.Error(), "the store has no signature for the image") != 2 {
			t.Error(err)
		}
	})
}

// TestCollectEnds checks how many requests are made, and that errors of the same kind are listed once.
func TestCollectEnds(t *testing.T) {
	first, second := signers()[0], signers()[1]
	newer := first.sign(t, text(image), signed, 0)
	other := second.sign(t, text(image), signed.Add(-time.Minute), 0)
	down := errors.New("connection refused")
	t.Run("no end", func(t *testing.T) {
		w := &web{there: map[string]any{}}
		for n := 1; n <= 20; n++ {
			w.there[address(a, image, n)] = down
		}
		if _, err := Collect(t.Context(), w, []string{a}, image, []Keyring{first.keyring}, now); err == nil || len(w.asked) != 9 {
			t.Errorf("%d requests: %v", len(w.asked), err)
		}
	})
	t.Run("the same of each", func(t *testing.T) {
		w := &web{there: map[string]any{address(a, image, 4): other}}
		for n := range 9 {
			if place := address(a, image, n+1); n != 3 {
				w.there[place] = fmt.Errorf("reading %s: 403 Forbidden", place)
			}
		}
		w.there[address(a, image, 7)] = down
		_, err := Collect(t.Context(), w, []string{a, b}, image, []Keyring{first.keyring}, now)
		if err == nil {
			t.Fatal("it is trusted")
		}
		at := strings.TrimSuffix(address(a, image, 1), "1")
		var got []string
		for line := range strings.Lines(err.Error()) {
			got = append(got, strings.ReplaceAll(strings.TrimSpace(line), at, "-"))
		}
		want := []string{
			"-1 to signature-3: reading -1: 403 Forbidden", "-4: ", "-5 to signature-6: reading -5: 403 Forbidden",
			"-7: connection refused", "-8 to signature-9: reading -8: 403 Forbidden", address(b, image, 1),
		}
		if len(got) != 1+len(want) || !errors.Is(err, down) {
			t.Fatal(err)
		}
		for i, line := range want {
			if !strings.HasPrefix(got[1+i], line) {
				t.Errorf("%q, want %q", got[1+i], line)
			}
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &web{there: map[string]any{address(a, image, 1): newer, address(a, image, 2): cancel}}
		if _, err := Collect(ctx, w, []string{a, b}, image, []Keyring{first.keyring}, now); !errors.Is(err, context.Canceled) || len(w.asked) != 2 {
			t.Errorf("%d requests: %v", len(w.asked), err)
		}
	})
	for _, stores := range [][]string{nil, {"example.com/signatures"}, {a, "file:signatures"}} {
		if _, err := Collect(t.Context(), &web{}, stores, image, []Keyring{first.keyring}, now); err == nil || !strings.Contains(err.Error(), "signature store") {
			t.Errorf("%q: %v", stores, err)
		}
	}
}

// refused reports whether an image is known to be untrusted.
func refused(err error) bool {
	var distrust *DistrustError
	return errors.As(err, &distrust) && !distrust.Unknown
}

// TestCollectFolder writes a static tree and reads it as a store.
func TestCollectFolder(t *testing.T) {
	first := signers()[0]
	dir := filepath.Join(t.TempDir(), "with space")
	file := filepath.FromSlash(address(dir, image, 1))
	fail.On(t, os.MkdirAll(filepath.Dir(file), 0o755))
	body := first.sign(t, text(image), signed, 0)
	fail.On(t, os.WriteFile(file, body, 0o644))
	store := "file://" + strings.ReplaceAll(filepath.ToSlash(dir), " ", "%20")
	got, err := Collect(t.Context(), nil, []string{store}, image, []Keyring{first.keyring}, now)
	if err != nil || len(got) != 1 || !bytes.Equal(got[0].Body, body) {
		t.Fatal(got, err)
	}
	// Links out of the folder are not followed, and only regular files are read.
	secret := filepath.Join(t.TempDir(), "signature")
	fail.On(t, os.Rename(file, secret))
	if err := os.Symlink(secret, file); err != nil {
		t.Skip(err)
	}
	if _, err := Collect(t.Context(), nil, []string{store}, image, []Keyring{first.keyring}, now); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

func TestPath(t *testing.T) {
	const want = "signatures/sha256=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef/signature-1"
	for _, store := range []string{"signatures", "signatures/"} {
		fail.Diff(t, want, address(store, image, 1))
	}
}
