package mirror

import (
	"context"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/remote"
)

// A lying registry falsely reports once that it has, accepted or mounted a blob, and then refuses
// its manifest as registries do.
type lying struct {
	*memoryRegistry
	call string
	blob digest.Digest
	told bool
}

func (l *lying) lies(call string, d digest.Digest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if call != l.call || d != l.blob || l.told {
		return false
	}
	l.told = true
	return true
}

func (l *lying) HasBlob(ctx context.Context, repository string, desc ocispec.Descriptor) (bool, error) {
	if l.lies("has blob", desc.Digest) {
		return true, nil
	}
	return l.memoryRegistry.HasBlob(ctx, repository, desc)
}

func (l *lying) PutBlob(ctx context.Context, repository string, desc ocispec.Descriptor, open Open) error {
	if l.lies("put blob", desc.Digest) {
		body, err := open(ctx, 0)
		if err != nil {
			return err
		}
		return body.Close()
	}
	return l.memoryRegistry.PutBlob(ctx, repository, desc, open)
}

func (l *lying) MountBlob(ctx context.Context, repository string, desc ocispec.Descriptor, from string, open Open) (bool, error) {
	if l.lies("mount blob", desc.Digest) {
		return true, nil
	}
	return l.memoryRegistry.MountBlob(ctx, repository, desc, from, open)
}

func (l *lying) PutManifest(ctx context.Context, repository string, desc ocispec.Descriptor, raw []byte, tags []string) error {
	err := l.memoryRegistry.PutManifest(ctx, repository, desc, raw, tags)
	if err != nil && strings.Contains(err.Error(), "MANIFEST_BLOB_UNKNOWN") {
		return remote.ErrBlobUnknown
	}
	return err
}

// TestRunPushesMissingContentAgain checks that content is pushed again if the registry turns out
// not to have it, and that it counts as copied.
func TestRunPushesMissingContentAgain(t *testing.T) {
	for _, call := range []string{"has blob", "put blob", "mount blob"} {
		t.Run(call, func(t *testing.T) {
			m := sample(t)
			base := m.blob(strings.Repeat("base layer ", 100))
			registry := &lying{memoryRegistry: newMemoryRegistry(), call: call, blob: base}
			journal := &memoryJournal{lines: map[string]bool{}}
			if call == "has blob" {
				journal.lines[key("org/a", base)] = true
			}
			source := m.source()
			rep := mustRun(t, m.plan(), source, registry, Options{Journal: journal})
			if !registry.told || !rep.Complete() || len(registry.tags) != 6 {
				t.Fatalf("told %v: %+v", registry.told, rep)
			}
			// Once for each of the three repositories with the false report, and once for the lost
			// blob.
			if n := source.given[base]; n > 4 {
				t.Errorf("the blob was read %d times", n)
			}
			for _, repository := range []string{"org/a", "org/b"} {
				if !registry.blobs[key(repository, base)] {
					t.Errorf("%s has no base layer", repository)
				}
			}
		})
	}
}

// TestRunGivesUpOnAManifestThatIsAlwaysRefused checks that there is no third attempt if a registry
// refuses the manifest again.
func TestRunGivesUpOnAManifestThatIsAlwaysRefused(t *testing.T) {
	m := sample(t)
	registry := newMemoryRegistry()
	registry.fail = func(call, repository string, _ digest.Digest) error {
		if call == "put manifest" && repository == "other/extra" {
			return remote.ErrBlobUnknown
		}
		return nil
	}
	rep := mustRun(t, m.plan(), m.source(), registry, Options{})
	if len(rep.Failed) != 1 || rep.Failed[0].Repository != "other/extra" {
		t.Errorf("%+v", rep)
	}
}
