package flips

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/archive/serve"
	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A way reads an archive.
type way struct {
	name string
	// read returns the error of the verb, and what is wrong with what it made. name is unique. If the archive has no reference
	// yet, this is it.
	read   func(ctx context.Context, t *testing.T, name string) (said, wrong error)
	finds  bool // every bit is read
	writes bool // it writes to the archive
}

// ways are the ways of reading. Import is the first, since it makes the reference for others.
func (a *archived) ways() []way {
	return []way{
		{name: "import", read: a.imports},
		{name: "mirror", read: a.mirrors},
		{name: "verify", read: a.verifies, finds: true},
		{name: "extract", read: a.extracts},
		{name: "list", read: a.lists},
		{name: "serve", read: a.serves},
		{name: "rebuild", read: a.rebuilds, writes: true},
	}
}

// arrived compares a mirror after a run with the reference.
func (a *archived) arrived(ctx context.Context, t *testing.T, prefix string, said error) (wrong error) {
	t.Helper()
	got, wrong := a.contentOf(ctx, t, prefix)
	switch {
	case wrong != nil:
		return wrong
	case a.want == nil:
		a.want = got
	case said == nil:
		return a.want.same(got)
	}
	return nil
}

func (a *archived) imports(ctx context.Context, t *testing.T, name string) (said, wrong error) {
	o := a.MirrorOptions("", a.Docker(name))
	o.From, o.Read, o.Workspace, o.Env = a.locations(), a.reading(), filepath.Join(t.TempDir(), "work"), a.NewEnv()
	_, said = mirroring.Run(ctx, o)
	return said, a.arrived(ctx, t, name, said)
}

// mirrors mirrors the images of a layout.
func (a *archived) mirrors(ctx context.Context, t *testing.T, name string) (said, wrong error) {
	text := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n"
	for _, image := range []string{"org/app:v0", "org/app:v1", "org/small:v1", "org/multi:v1"} {
		repository, tag, _ := strings.Cut(image, ":")
		text += fmt.Sprintf("  - {name: '%s%s:%s', targetRepo: %s, targetTag: %s}\n", env.LayoutScheme, a.folders[0], image, repository, tag)
	}
	config := filepath.Join(t.TempDir(), "imageset.yaml")
	fail.On(t, os.WriteFile(config, []byte(text), 0o600))
	o := a.MirrorOptions(config, a.Docker(name))
	o.Workspace, o.Env = filepath.Join(t.TempDir(), "work"), a.NewEnv()
	_, said = mirroring.Run(ctx, o)
	return said, a.arrived(ctx, t, name, said)
}

func (a *archived) verifies(ctx context.Context, _ *testing.T, _ string) (said, wrong error) {
	where := a.locations()
	if a.layout {
		where = []string{env.LayoutScheme + a.folders[0]}
	}
	r, said := verify.Run(ctx, verify.Options{Env: a.NewEnv(), Locations: where, Plan: a.plan, Read: a.reading()})
	switch {
	case r == nil || r.Archive == nil:
	case said != nil && r.Archive.Intact():
		wrong = errors.New("the report shows no damage")
	case said == nil && len(r.Archive.Damage) > 0:
		said = advice.New(advice.Mismatch, "", "nothing is lost by %v", r.Archive.Damage)
	}
	return said, wrong
}

func (a *archived) extracts(ctx context.Context, t *testing.T, _ string) (said, wrong error) {
	dir := filepath.Join(t.TempDir(), "layout")
	_, said = extract.Images(ctx, extract.Options{Options: a.opening(), To: dir})
	files := map[string][]byte{}
	if _, err := os.Stat(dir); err == nil {
		files = readFolders(t, dir)
	}
	blobs := 0
	for name, text := range files {
		if !strings.Contains(filepath.ToSlash(name), "/blobs/sha256/") {
			continue
		}
		blobs++
		if digest.FromBytes(text).Encoded() != filepath.Base(name) {
			wrong = errors.Join(wrong, fmt.Errorf("%s has other bytes", name))
		}
	}
	if want := a.want.digests(); said == nil && blobs != len(want) {
		wrong = errors.Join(wrong, fmt.Errorf("the layout has %d manifests and blobs, want %d", blobs, len(want)))
	}
	return said, wrong
}

func (a *archived) opening() open.Options {
	return open.Options{Env: a.NewEnv(), Folders: a.locations(), Read: a.reading()}
}

// digests returns the digests of everything.
func (c *content) digests() map[digest.Digest]bool {
	all := map[digest.Digest]bool{}
	for _, r := range c.repositories {
		for _, d := range append(slices.Clone(r.Manifests), r.Blobs...) {
			all[d] = true
		}
	}
	return all
}

// lists lists what the archive has, in three ways.
func (a *archived) lists(ctx context.Context, _ *testing.T, _ string) (said, wrong error) {
	var all []any
	inspected, err := inspect.Archive(ctx, a.opening())
	if err == nil && (inspected.Missing > 0 || inspected.PlanProblem != "") {
		err = fmt.Errorf("%d volumes are missing; %s", inspected.Missing, inspected.PlanProblem)
	}
	images, imagesErr := inspect.ListArchiveImages(ctx, inspect.ArchiveListOptions{Options: a.opening()})
	list, listErr := contents.Images(ctx, contents.Options{Env: a.NewEnv(), Workspace: a.Path("no-workspace"), Archives: a.locations(), Read: a.reading()})
	for _, one := range []struct {
		value any
		err   error
	}{{inspected, err}, {images, imagesErr}, {list, listErr}} {
		if one.err == nil {
			all = append(all, one.value)
		}
	}
	text, err := json.Marshal(all)
	said = errors.Join(err, imagesErr, listErr)
	switch {
	case a.listed == "":
		a.listed = string(text)
	case len(all) == 3 && string(text) != a.listed && a.warned.Len() == 0:
		wrong = fmt.Errorf("it lists %s\nwant %s", text, a.listed)
	}
	return said, errors.Join(wrong, err)
}

// serves serves the archive and pulls everything.
func (a *archived) serves(ctx context.Context, t *testing.T, _ string) (said, wrong error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	pull := func(s serve.Serving) error {
		said, wrong = a.pull(ctx, "http://"+s.Address.String())
		stop()
		return nil
	}
	ready := make(chan serve.Serving, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- serve.Run(ctx, serve.Options{Env: a.NewEnv(), Archive: a.locations(), Read: a.reading(), Listen: "127.0.0.1:0", Ready: func(s serve.Serving) error {
			ready <- s
			return nil
		}})
	}()
	select {
	case s := <-ready:
		fail.On(t, pull(s))
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			wrong = errors.Join(wrong, err)
		}
	case said = <-ended:
	}
	return said, wrong
}

// errUnavailable is what a client gets of damaged content.
var errUnavailable = advice.New(advice.Mismatch, "", "a client does not get everything")

// pull reads all of the reference from a registry. What is read whole must have the right digest.
func (a *archived) pull(ctx context.Context, address string) (said, wrong error) {
	get := func(repository, what, name string, want digest.Digest) {
		where := address + "/v2/" + repository + "/" + what + "/" + name
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
		if err == nil {
			req.Header.Set("Accept", "*/*")
			var resp *http.Response
			if resp, err = http.DefaultClient.Do(req); err == nil {
				defer resp.Body.Close()
				var text []byte
				text, err = io.ReadAll(resp.Body)
				switch {
				case err != nil:
				case resp.StatusCode != http.StatusOK:
					err = fmt.Errorf("%s: %s", resp.Status, text)
				case digest.FromBytes(text) != want:
					wrong = errors.Join(wrong, fmt.Errorf("%s has other bytes", where))
				}
			}
		}
		if err != nil {
			said = fmt.Errorf("%w: %w", errUnavailable, err)
		}
	}
	for _, r := range a.want.repositories {
		for _, d := range r.Manifests {
			get(r.Name, "manifests", d.String(), d)
		}
		for _, d := range r.Blobs {
			get(r.Name, "blobs", d.String(), d)
		}
		for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
			get(r.Name, "manifests", tag, r.Tags[tag])
		}
	}
	return said, wrong
}

// rebuilds rebuilds the volumes, which are then what they were.
func (a *archived) rebuilds(ctx context.Context, t *testing.T, _ string) (said, wrong error) {
	_, said = rebuild.Archive(ctx, rebuild.Options{Options: a.opening()})
	for name, text := range readFolders(t, a.folders...) {
		if said == nil && filepath.Ext(name) == ".tar" && !bytes.Equal(text, a.files[name]) {
			wrong = errors.Join(wrong, fmt.Errorf("%s differs", name))
		}
	}
	return said, wrong
}
