package archive

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// A scribe signs set manifests.
type scribe struct {
	signer ssh.Signer
	policy *sshsig.Policy // requires a signature of this signer
	asked  atomic.Int64
}

func newScribe(t testing.TB, name string) *scribe {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(seed[:]))
	fail.On(t, err)
	s := &scribe{signer: signer}
	trusted, err := sshsig.ParseAllowedSigners(s.allowed(name), time.UTC)
	fail.On(t, err)
	s.policy = &sshsig.Policy{Signers: trusted, Required: true, Now: time.Now()}
	return s
}

// allowed returns a line of an allowed_signers file.
func (s *scribe) allowed(name string) []byte {
	return append([]byte(name+` namespaces="gantry" `), ssh.MarshalAuthorizedKey(s.signer.PublicKey())...)
}

func (s *scribe) sign(_ context.Context, manifest io.Reader) ([]byte, error) {
	s.asked.Add(1)
	return sshsig.Sign(s.signer, SignatureNamespace, manifest)
}

// opened opens the archive in folders and closes it.
func opened(policy *sshsig.Policy, dirs ...string) (sshsig.Verdict, error) {
	a, err := OpenWith(OpenOptions{Signatures: policy}, dirs...)
	if err != nil {
		return sshsig.Verdict{}, err
	}
	return a.Signature(), a.Close()
}

// refused fails the test if err is not a *SignatureError that contains words.
func refused(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if _, ok := errors.AsType[*SignatureError](err); !ok {
		t.Errorf("%s: %v, want a *SignatureError", what, err)
		return
	}
	says(t, err, words...)
}

// says checks that err is an error that contains all words, in its text or in its advice.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(advice.Text(err), word) {
			t.Errorf("%v does not say %q", advice.Text(err), word)
		}
	}
}

// edit replaces text in a file.
func edit(t *testing.T, file string, change func(string) string) {
	t.Helper()
	text := contentOf(t, file)
	if changed := change(string(text)); changed == string(text) {
		t.Fatalf("%s was not changed", file)
	} else if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	firstSet = "gantry-000001.json"
	firstSum = firstSet + ".sha256"
	firstSig = firstSet + ".sig"
)

// TestSigned checks that a signed archive is accepted, and refused after it was altered.
func TestSigned(t *testing.T) {
	t.Parallel()
	ops, mallory := newScribe(t, "ops@example.com"), newScribe(t, "mallory@example.org")
	dir := t.TempDir()
	newSample(1, 3000, 70_000).write(t, dir, Options{Sign: ops.sign})
	in := func(name string) string { return filepath.Join(dir, name) }
	v, err := opened(ops.policy, dir)
	if err != nil || !v.Signed || !v.Trusted || v.Principal != "ops@example.com" || !strings.HasPrefix(v.Key, "SHA256:") {
		t.Fatalf("%+v, %v", v, err)
	}
	if v, err := opened(&sshsig.Policy{}, dir); err != nil || !v.Signed || v.Trusted {
		t.Errorf("without trusted keys: %+v, %v", v, err)
	}
	if v, err := opened(nil, dir); err != nil || v.Signed {
		t.Errorf("not looked at: %+v, %v", v, err)
	}
	_, err = opened(mallory.policy, dir)
	refused(t, "another key", err, firstSig, "it is not a trusted key", v.Key)

	// The set is consistent, but not the one that was signed.
	edit(t, in(firstSet), func(s string) string { return strings.Replace(s, `"volumeSize":`, `"volumeSize":9`, 1) })
	raw := contentOf(t, in(firstSet))
	sound := func(raw []byte) {
		fail.On(t, os.WriteFile(in(firstSum), sum(setID{sequence: 1}, digest.FromBytes(raw)), 0o600))
	}
	sound(raw)
	if _, err := opened(nil, dir); err != nil {
		t.Fatalf("the altered set is not even one: %v", err)
	}
	for _, policy := range []*sshsig.Policy{ops.policy, {}} {
		_, err = opened(policy, dir)
		refused(t, "an altered set manifest", err, firstSig, "altered")
	}
}

// TestSignatureOfAnother checks that an attacker's content, with all files that belong to it, is
// refused under a valid signature of other content.
func TestSignatureOfAnother(t *testing.T) {
	t.Parallel()
	ops := newScribe(t, "ops@example.com")
	genuine, forged := t.TempDir(), t.TempDir()
	newSample(1, 3000).write(t, genuine, Options{Sign: ops.sign})
	newSample(2, 3000).write(t, forged, Options{})
	_, err := opened(ops.policy, forged)
	refused(t, "no signature", err, firstSet, "not signed")
	if !errors.Is(err, sshsig.ErrUnsigned) {
		t.Error(err)
	}
	_, err = opened(&sshsig.Policy{Required: true}, forged)
	refused(t, "no trusted key", err)
	if v, err := opened(&sshsig.Policy{Signers: ops.policy.Signers}, forged); err != nil || v.Signed {
		t.Errorf("unsigned, and that is allowed: %+v, %v", v, err)
	}
	signature := contentOf(t, filepath.Join(genuine, firstSig))
	good := string(signature)
	foreign, err := sshsig.Sign(ops.signer, "file", strings.NewReader(good))
	fail.On(t, err)
	for what, tc := range map[string]struct{ text, want string }{
		"of another set":    {good, "something else"},
		"of another kind":   {string(foreign), `"file"`},
		"garbage":           {"\x00\x01", "not an SSH signature"},
		"empty":             {"", "not an SSH signature"},
		"larger than it is": {strings.Repeat("a", sshsig.MaxSize+1), "more than"},
	} {
		fail.On(t, os.WriteFile(filepath.Join(forged, firstSig), []byte(tc.text), 0o600))
		for _, policy := range []*sshsig.Policy{ops.policy, {}, {Signers: ops.policy.Signers}} {
			_, err := opened(policy, forged)
			refused(t, what, err, firstSig, tc.want)
		}
	}
	// The signature is a link to a genuine one.
	fail.On(t, errors.Join(os.Remove(filepath.Join(forged, firstSig)), os.Symlink(filepath.Join(genuine, firstSig), filepath.Join(forged, firstSig))))
	_, err = opened(ops.policy, forged)
	refused(t, "a link", err, "not a regular file")
}

// TestSignedInTwoFolders checks that the trusted one of two signatures is used.
func TestSignedInTwoFolders(t *testing.T) {
	t.Parallel()
	ops, mallory := newScribe(t, "ops@example.com"), newScribe(t, "mallory@example.org")
	one, two := t.TempDir(), t.TempDir()
	s := newSample(1, 3000)
	s.write(t, one, Options{Sign: mallory.sign})
	fail.On(t, os.CopyFS(two, os.DirFS(one)))
	s.write(t, two, Options{Sign: ops.sign})
	for _, dirs := range [][]string{{one, two}, {two, one}} {
		if v, err := opened(ops.policy, dirs...); err != nil || v.Principal != "ops@example.com" {
			t.Errorf("%v: %+v, %v", dirs, v, err)
		}
	}
	fail.On(t, os.Remove(filepath.Join(two, firstSig)))
	_, err := opened(ops.policy, two, one)
	refused(t, "only another signature", err, "it is not a trusted key")
}

// TestSigning checks that a new archive is signed at the end, that an existing one is signed later,
// and that there is no archive if signing fails.
func TestSigning(t *testing.T) {
	t.Parallel()
	ops := newScribe(t, "ops@example.com")
	dir := t.TempDir()
	s := newSample(1, 3000)
	away := errors.New("the agent is away")
	w, err := Create(t.Context(), dir, s.content(), Options{Sign: func(context.Context, io.Reader) ([]byte, error) { return nil, away }})
	fail.On(t, err)
	s.put(t, w)
	if err := w.Finish(t.Context()); !errors.Is(err, away) || !strings.Contains(err.Error(), firstSet) {
		t.Errorf("signing failed, and finishing ended with %v", err)
	}
	fail.On(t, w.Close())
	if left, err := filepath.Glob(filepath.Join(dir, "gantry-*")); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	// The next run reuses all content of the first.
	w, err = Create(t.Context(), dir, s.content(), Options{})
	fail.On(t, err)
	if n := s.put(t, w); n > 0 {
		t.Errorf("%d entries were written again", n)
	}
	fail.On(t, errors.Join(w.Finish(t.Context()), w.Close()))
	if v, err := opened(&sshsig.Policy{}, dir); err != nil || v.Signed {
		t.Errorf("not signed, and it is %+v, %v", v, err)
	}
	// There is no new content, but the archive is signed.
	s.write(t, dir, Options{Sign: ops.sign})
	if v, err := opened(ops.policy, dir); err != nil || ops.asked.Load() != 1 {
		t.Errorf("%+v, %v, asked %d times", v, err, ops.asked.Load())
	}
	// A run without new content keeps the signature, with and without a signer.
	before, err := os.Stat(filepath.Join(dir, firstSig))
	fail.On(t, err)
	s.write(t, dir, Options{Sign: ops.sign})
	s.write(t, dir, Options{})
	if after, err := os.Stat(filepath.Join(dir, firstSig)); err != nil || !os.SameFile(before, after) {
		t.Errorf("the signature was written again: %v", err)
	}
	// Replacing a set removes its signature.
	newSample(2, 3000).write(t, dir, Options{Replace: true})
	if left, err := filepath.Glob(filepath.Join(dir, "*.sig")); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
}

// TestKeygenVerifies checks that ssh-keygen verifies the signature of an archive, without Gantry.
func TestKeygenVerifies(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	ops := newScribe(t, "ops@example.com")
	dir := t.TempDir()
	newSample(1, 3000).write(t, dir, Options{Sign: ops.sign})
	fail.On(t, os.WriteFile(filepath.Join(dir, "allowed_signers"), ops.allowed("ops@example.com"), 0o600))
	verify := exec.CommandContext(t.Context(), "sh", "-c",
		fmt.Sprintf("ssh-keygen -Y verify -f allowed_signers -I ops@example.com -n gantry -s %s < %s", firstSig, firstSet))
	verify.Dir = dir
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSignedChain checks that another set is refused in place of a set that a signed one builds on.
func TestSignedChain(t *testing.T) {
	t.Parallel()
	ops := newScribe(t, "ops@example.com")
	dir := t.TempDir()
	first := newSample(1, 3000)
	both := first.plus(newSample(2, 5000))
	first.write(t, dir, Options{}) // before there were keys
	both.write(t, dir, Options{Sign: ops.sign, Base: first.onto(t, dir, 1)})
	if v, err := opened(ops.policy, dir); err != nil || !v.Trusted {
		t.Fatalf("%+v, %v", v, err)
	}
	edit(t, filepath.Join(dir, firstSet), func(s string) string { return strings.Replace(s, `"volumeSize":`, `"volumeSize":9`, 1) })
	raw := contentOf(t, filepath.Join(dir, firstSet))
	fail.On(t, os.WriteFile(filepath.Join(dir, firstSum), sum(setID{sequence: 1}, digest.FromBytes(raw)), 0o600))
	_, err := opened(ops.policy, dir)
	says(t, err, "another set")
}

// TestSignedRepair checks that a repair is used only if its signer is trusted.
func TestSignedRepair(t *testing.T) {
	t.Parallel()
	ops, mallory := newScribe(t, "ops@example.com"), newScribe(t, "mallory@example.org")
	disk := t.TempDir()
	s := newSample(1, 3000, 70_000)
	s.write(t, disk, Options{Sign: ops.sign})
	base := s.onto(t, disk, 1)
	fail.On(t, os.Remove(filepath.Join(disk, volumeName(1, 1))))
	for name, tc := range map[string]struct {
		sign  func(context.Context, io.Reader) ([]byte, error)
		taken bool
	}{"unsigned": {nil, false}, "mallory's": {mallory.sign, false}, "ours": {ops.sign, true}} {
		repaired := t.TempDir()
		s.write(t, repaired, Options{Sign: tc.sign, Repair: &Repair{base.Sets[0], base.Plan}})
		_, err := opened(ops.policy, disk, repaired)
		var damage *DamageError
		if tc.taken && err != nil || !tc.taken && !errors.As(err, &damage) {
			t.Errorf("%s repair: %v", name, err)
		}
		if _, err := opened(nil, disk, repaired); err != nil {
			t.Errorf("%s repair, with signatures not looked at: %v", name, err)
		}
	}
}

func TestEncryptedSigned(t *testing.T) {
	t.Parallel()
	ops := newScribe(t, "ops@example.com")
	s, dir, ann := newSample(1, 3000), t.TempDir(), person(t)
	s.write(t, dir, Options{Encrypt: to(ann), Sign: ops.sign})
	for _, identities := range [][]age.Identity{nil, {ann}} {
		a, err := OpenWith(OpenOptions{Signatures: ops.policy, Identities: identities}, dir)
		fail.On(t, err)
		if v := a.Signature(); !v.Trusted {
			t.Errorf("it is signed by %+v", v)
		}
		fail.On(t, a.Close())
	}
}
