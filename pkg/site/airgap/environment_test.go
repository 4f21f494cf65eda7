package airgap

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A fixture has a folder for disks and workspaces, and the content of all its plans.
type fixture struct {
	t       *testing.T
	dir     string
	content map[digest.Digest][]byte
	ws      *state.Workspace // the workspace of the connected side
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, dir: registrytest.TempDir(t), content: map[digest.Digest][]byte{}}
	w.ws = w.workspace("workspace")
	return w
}

func (w *fixture) path(name string) string { return filepath.Join(w.dir, name) }

func (w *fixture) workspace(name string) *state.Workspace {
	w.t.Helper()
	ws, err := state.Open(w.path(name))
	fail.On(w.t, err)
	w.t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return ws
}

// month returns the plan called "ops" with the images 1 to n. All images share one layer, and each
// has one more of its own.
func (w *fixture) month(n int) *plan.Plan { return w.named("ops", n) }

func (w *fixture) named(name string, n int) *plan.Plan {
	w.t.Helper()
	p := &plan.Plan{Kind: plan.Kind, Version: plan.Version, Name: name}
	blob := func(text string) ocispec.Descriptor {
		raw := bytes.Repeat([]byte(text+" "), 300)
		d := digest.FromBytes(raw)
		if !slices.ContainsFunc(p.Blobs, func(b plan.Blob) bool { return b.Digest == d }) {
			p.Blobs = append(p.Blobs, plan.Blob{Digest: d, Size: int64(len(raw))})
		}
		w.content[d] = raw
		return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageLayer, Digest: d, Size: int64(len(raw))}
	}
	for i := 1; i <= n; i++ {
		layers := []ocispec.Descriptor{blob("shared"), blob(fmt.Sprintf("layer %d", i))}
		raw, err := json.Marshal(ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Layers: layers})
		fail.On(w.t, err)
		d, size := digest.FromBytes(raw), int64(len(raw))
		w.content[d] = raw
		m := plan.Manifest{Digest: d, MediaType: ocispec.MediaTypeImageManifest, Size: size}
		for _, l := range layers {
			m.Blobs = append(m.Blobs, l.Digest)
			size += l.Size
		}
		p.Manifests = append(p.Manifests, m)
		p.Images = append(p.Images, plan.Image{
			Source: source(i), Kind: plan.AdditionalImage, Digest: d, Repository: repository(i), Tags: []string{"v1"},
			Size: size, Reasons: []plan.Reason{{List: "additionalImages"}},
		})
	}
	slices.SortFunc(p.Manifests, func(a, b plan.Manifest) int { return cmp.Compare(a.Digest, b.Digest) })
	slices.SortFunc(p.Blobs, func(a, b plan.Blob) int { return cmp.Compare(a.Digest, b.Digest) })
	p.Totals = plan.Totals{Images: len(p.Images), Manifests: len(p.Manifests), Blobs: len(p.Blobs)}
	for desc := range mirror.Content(p) {
		p.Totals.Bytes += desc.Size
	}
	fail.On(w.t, p.Write(io.Discard))
	return p
}

func source(i int) string     { return fmt.Sprintf("src.example.com/org/app%d:v1", i) }
func repository(i int) string { return fmt.Sprintf("org/app%d", i) }

// memory is a source with the content of the fixture, except for missing content.
type memory struct {
	*fixture
	gone map[digest.Digest]bool
}

func (m memory) get(d digest.Digest) ([]byte, error) {
	raw, ok := m.content[d]
	if !ok || m.gone[d] {
		return nil, fmt.Errorf("%s: %w", d, fs.ErrNotExist)
	}
	return raw, nil
}

func (m memory) Manifest(_ context.Context, _ string, d digest.Digest) (ocispec.Descriptor, []byte, error) {
	raw, err := m.get(d)
	return ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: d, Size: int64(len(raw))}, raw, err
}

func (m memory) Blob(_ context.Context, _ string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	raw, err := m.get(desc.Digest)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(raw[offset:])), nil
}

// to returns the options for an archive in a folder of the fixture, as gantry mirror sets them.
func (w *fixture) to(folder string, since Since) ExportOptions {
	return ExportOptions{Dir: w.path(folder), Archive: archive.Options{VolumeSize: 1 << 20, Replace: true}, Since: since}
}

// write writes the next archive.
func (w *fixture) write(ws *state.Workspace, p *plan.Plan, opts ExportOptions) (*Export, error) {
	w.t.Helper()
	n, err := PrepareExport(w.t.Context(), ws, p, opts)
	if err != nil {
		return nil, err
	}
	report, err := n.Run(w.t.Context(), p, memory{fixture: w}, mirror.Options{})
	if err == nil && !report.Complete() {
		err = fmt.Errorf("not complete: %+v", report.Failed)
	}
	return n, err
}

// must writes the next archive to a folder, from the first workspace. It fails the test if that
// fails.
func (w *fixture) must(p *plan.Plan, folder string, since Since) *Export {
	w.t.Helper()
	n, err := w.write(w.ws, p, w.to(folder, since))
	fail.On(w.t, err)
	return n
}

// months writes archives of 1, 2, ... images, each to its own folder: "disk1", "disk2" and so on.
func (w *fixture) months(n int) {
	w.t.Helper()
	for i := 1; i <= n; i++ {
		w.must(w.month(i), fmt.Sprintf("disk%d", i), Since{})
	}
}

// open opens the archive in folders of the fixture.
func (w *fixture) open(folders ...string) *archive.Archive {
	w.t.Helper()
	dirs := elements.Map(folders, w.path)
	have, err := archive.Open(dirs...)
	fail.On(w.t, err)
	w.t.Cleanup(func() { _ = have.Close() }) // only read
	return have
}

// sets returns the sequences in a folder of the fixture.
func (w *fixture) sets(folder string) []int {
	w.t.Helper()
	all, err := archive.Sequences(w.path(folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return all
}

// spoil changes a byte of every selected entry in the volumes of a folder.
func (w *fixture) spoil(folder string, meant func(archive.EntryInfo) bool) {
	w.t.Helper()
	have, err := archive.Inspect(w.path(folder))
	fail.On(w.t, err)
	defer have.Close()
	found := false
	for e := range have.Entries() {
		if !meant(e) {
			continue
		}
		found = true
		file := filepath.Join(w.path(folder), e.Volume)
		raw, err := os.ReadFile(file)
		fail.On(w.t, err)
		raw[e.Offset] ^= 1
		fail.On(w.t, os.WriteFile(file, raw, 0o600))
	}
	if !found {
		w.t.Fatalf("%s does not have it", folder)
	}
}

// itsPlan selects the plan. content selects the content with one of these digests.
func itsPlan(e archive.EntryInfo) bool { return strings.HasPrefix(e.Path, "gantry/plan") }

func content(all ...digest.Digest) func(archive.EntryInfo) bool {
	return func(e archive.EntryInfo) bool { return e.IsContent && slices.Contains(all, e.Digest) }
}

// key returns a new signing key.
func (w *fixture) key(name string) (key *sshsig.Key, public []byte) {
	w.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	fail.On(w.t, err)
	block, err := ssh.MarshalPrivateKey(private, name)
	if err == nil {
		err = os.WriteFile(w.path(name), pem.EncodeToMemory(block), 0o600)
	}
	fail.On(w.t, err)
	signer, err := ssh.NewSignerFromKey(private)
	fail.On(w.t, err)
	if key, err = sshsig.OpenKey(w.t.Context(), w.path(name), sshsig.KeyOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return key, ssh.MarshalAuthorizedKey(signer.PublicKey())
}

// signing returns a function that signs as gantry mirror does.
func signing(key *sshsig.Key) func(context.Context, io.Reader) ([]byte, error) {
	return func(ctx context.Context, text io.Reader) ([]byte, error) {
		return key.Sign(ctx, archive.SignatureNamespace, text)
	}
}

// trusting returns a policy that trusts one key and requires a signature.
func (w *fixture) trusting(public []byte) *sshsig.Policy {
	w.t.Helper()
	signers, err := sshsig.ParsePublicKeys(public)
	fail.On(w.t, err)
	return &sshsig.Policy{Signers: signers, Required: true}
}

// refused fails the test if err is not an error of this kind that contains words, with its hint.
func refused(t *testing.T, err error, kind advice.Kind, words ...string) {
	t.Helper()
	if got := advice.KindOf(err); err == nil || got != kind {
		t.Errorf("error %T of kind %d, want kind %d: %v", err, got, kind, err)
		return
	}
	for _, word := range words {
		if !strings.Contains(advice.Text(err), word) {
			t.Errorf("the error does not contain %q: %s", word, advice.Text(err))
		}
	}
}

// gone returns the set of content that a source does not have.
func gone(all ...digest.Digest) map[digest.Digest]bool {
	m := map[digest.Digest]bool{}
	for _, d := range all {
		m[d] = true
	}
	return m
}

// describe returns the descriptor of a manifest or blob of a plan.
func describe(p *plan.Plan, d digest.Digest) ocispec.Descriptor {
	for desc := range mirror.Content(p) {
		if desc.Digest == d {
			return desc
		}
	}
	return ocispec.Descriptor{}
}

// encryption returns the encryption to a new key.
func (w *fixture) encryption() *archive.Encryption {
	w.t.Helper()
	who, err := age.GenerateX25519Identity()
	fail.On(w.t, err)
	return &archive.Encryption{Recipients: []age.Recipient{who.Recipient()}}
}
