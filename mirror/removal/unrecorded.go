package removal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/mirror/prune"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// UnrecordedOptions says of which mirror ListUnrecorded lists what no record has. Mirror is required.
type UnrecordedOptions struct {
	Env *env.Env
	// Mirror is docker://HOST[:PORT][/PREFIX].
	Mirror string
	// MaxNestedPaths is how many path components the registry allows; 0 is no limit.
	MaxNestedPaths int
	// OnlyMirror is the one of PruneOptions.
	OnlyMirror bool
	// Select selects what is written to Save: REPOSITORY, REPOSITORY/* (everything below), REPOSITORY:TAG or
	// REPOSITORY@DIGEST, with the path in the registry. What belongs to a recorded image is never written, nor are its
	// other tags.
	Select []string
	// Save is the file that a list for Delete is written to.
	Save string
}

// Unrecorded is what a mirror has and no record lists. Its JSON is what gantry prune --others --output json prints.
type Unrecorded struct {
	Version int    `json:"version"`
	Mirror  string `json:"mirror"`
	// Repositories is how many were searched. Incomplete is why there may be others; "" if all were searched.
	Repositories int               `json:"repositories"`
	Incomplete   string            `json:"incomplete,omitempty"`
	Images       []UnrecordedImage `json:"images"`
	// Saved is the file with the list for Delete, and Selected how many images and tags it has.
	Saved    string `json:"saved,omitempty"`
	Selected int    `json:"selected,omitempty"`
}

// An UnrecordedImage is a manifest that no record lists, or that has tags which no record lists.
type UnrecordedImage struct {
	Repository string        `json:"repository"`
	Tags       []string      `json:"tags,omitempty"`
	Digest     digest.Digest `json:"digest"`
	// Type is the artifact type, or else the media type.
	Type string `json:"type"`
	// Bytes is the size of the manifest and its blobs, without the images of an index.
	Bytes int64 `json:"bytes"`
	// Recorded means that a record lists the manifest, and not the tags.
	Recorded bool `json:"recorded,omitempty"`
	// BelongsTo is the recorded manifest that it is a signature, another referrer or the list of referrers of.
	BelongsTo digest.Digest `json:"belongsTo,omitempty"`
}

// ListUnrecorded lists the content of a mirror that no record has. It changes nothing. Manifests without a tag are found only if
// a list of referrers has them.
func ListUnrecorded(ctx context.Context, o UnrecordedOptions) (*Unrecorded, error) {
	e, closeEnv := o.Env.OrDefault()
	defer closeEnv()
	t, err := site.OpenMirror(e, o.Mirror, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
	if err != nil {
		return nil, err
	}
	if (len(o.Select) > 0) != (o.Save != "") {
		return nil, env.InputHint("set both to write a list for gantry prune --list, or none", "Options.Select and Options.Save belong together")
	}
	r, err := readRevisions(ctx, e, &PruneOptions{OnlyMirror: o.OnlyMirror, Now: time.Now}, nil, t, nil)
	if err != nil {
		return nil, err
	}
	if err := r.addOtherMirrors(ctx); err != nil {
		return nil, err
	}
	out := &Unrecorded{Version: 1, Mirror: r.to.String(), Images: []UnrecordedImage{}}
	paths, err := r.repositories(ctx, out)
	if err != nil {
		return nil, err
	}
	out.Repositories = len(paths)
	var mu sync.Mutex
	g, searching := errgroup.WithContext(ctx)
	g.SetLimit(max(r.to.Streams, 1))
	for _, path := range paths {
		g.Go(func() error {
			s := unrecordedIn{recordedRevisions: r, registry: &prune.Registry{Client: r.to.Client, Host: r.to.Host}, path: path, images: map[digest.Digest]*UnrecordedImage{}}
			if err := s.search(searching); err != nil {
				return fmt.Errorf("searching the repository %s: %w", path, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, img := range s.images {
				out.Images = append(out.Images, *img)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	elements.Sort(out.Images, func(a, b UnrecordedImage) int {
		return cmp.Or(strings.Compare(a.Repository, b.Repository), slices.Compare(a.Tags, b.Tags), cmp.Compare(a.Digest, b.Digest))
	})
	if o.Save == "" {
		return out, nil
	}
	return out, out.save(&o, r.to.Host)
}

// repositories returns the repositories of the mirror without those of Gantry.
func (r *recordedRevisions) repositories(ctx context.Context, out *Unrecorded) ([]string, error) {
	all, err := r.to.Client.AllRepositories(ctx, r.to.Host)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, remote.ErrUnreachable), errors.Is(err, remote.ErrUntrusted):
		return nil, err
	case err != nil:
		out.Incomplete = "the registry does not list its repositories, so only those that records name were searched: " + err.Error()
		all = r.all.Repositories()
	}
	return slices.DeleteFunc(all, func(path string) bool {
		return site.IsOwn(path) || r.to.Prefix != "" && path != r.to.Prefix && !strings.HasPrefix(path, r.to.Prefix+"/")
	}), nil
}

// unrecordedIn is what no record lists in a repository.
type unrecordedIn struct {
	*recordedRevisions
	registry *prune.Registry
	path     string
	images   map[digest.Digest]*UnrecordedImage
}

func (s *unrecordedIn) search(ctx context.Context) error {
	tags, err := s.registry.Tags(ctx, s.path)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		d, err := s.registry.Resolve(ctx, s.path, tag)
		if err != nil {
			return err
		}
		recorded, _ := s.all.Has(reference.Reference{Path: s.path, Digest: d})
		if d == "" || recorded && (tag == plan.OwnTag(d) || s.all.HasTag(s.path, tag)) {
			continue
		}
		img, lists, err := s.read(ctx, d)
		if err != nil {
			return err
		}
		if img == nil {
			continue
		}
		img.Tags, img.Recorded = append(img.Tags, tag), recorded
		of, ok := prune.SubjectOfTag(tag)
		if !ok || of == d {
			continue
		}
		img.BelongsTo = cmp.Or(img.BelongsTo, s.recorded(of))
		for _, child := range lists {
			if s.recorded(child) != "" {
				continue
			}
			referrer, _, err := s.read(ctx, child)
			if err != nil {
				return err
			}
			if referrer != nil {
				referrer.BelongsTo = cmp.Or(referrer.BelongsTo, img.BelongsTo)
			}
		}
	}
	return nil
}

// recorded returns a digest if a record lists it in the repository, or else "".
func (s *unrecordedIn) recorded(d digest.Digest) digest.Digest {
	if recorded, _ := s.all.Has(reference.Reference{Path: s.path, Digest: d}); recorded {
		return d
	}
	return ""
}

// read returns a manifest, nil if it does not exist, and what it lists.
func (s *unrecordedIn) read(ctx context.Context, d digest.Digest) (*UnrecordedImage, []digest.Digest, error) {
	if img := s.images[d]; img != nil {
		return img, nil, nil
	}
	mediaType, raw, err := s.registry.Manifest(ctx, s.path, d)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var m struct {
		ArtifactType string               `json:"artifactType"`
		Config       ocispec.Descriptor   `json:"config"`
		Layers       []ocispec.Descriptor `json:"layers"`
		Manifests    []ocispec.Descriptor `json:"manifests"`
		Subject      ocispec.Descriptor   `json:"subject"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", d, err)
	}
	img := &UnrecordedImage{Repository: s.path, Digest: d, Type: cmp.Or(m.ArtifactType, mediaType), Bytes: int64(len(raw)) + m.Config.Size}
	for _, l := range m.Layers {
		img.Bytes += l.Size
	}
	if m.Subject.Digest != "" {
		img.BelongsTo = s.recorded(m.Subject.Digest)
	}
	s.images[d] = img
	lists := elements.Map(m.Manifests, func(child ocispec.Descriptor) digest.Digest { return child.Digest })
	return img, lists, nil
}

// names returns how an image is listed: by its tags, or by its digest.
func (u *UnrecordedImage) names(host string) (names []reference.Reference) {
	at := reference.Reference{Host: host, Path: u.Repository}
	names = elements.Map(u.Tags, at.WithTag)
	if len(names) == 0 {
		names = append(names, at.WithDigest(u.Digest))
	}
	return names
}

// selects reports whether a selection includes an image under one of its names.
func selects(selection string, name reference.Reference, d digest.Digest) bool {
	below, all := strings.CutSuffix(selection, "/*")
	return selection == name.Path || selection == name.Path+":"+name.Tag || selection == name.Path+"@"+d.String() || all && strings.HasPrefix(name.Path, below+"/")
}

// save writes what is selected as a list of images to delete.
func (u *Unrecorded) save(o *UnrecordedOptions, host string) error {
	f := &deletion.File{}
	used := map[string]bool{} // by selection
	for _, s := range o.Select {
		used[strings.TrimPrefix(strings.TrimPrefix(s, env.RegistryScheme), host+"/")] = false
	}
	for i := range u.Images {
		img := &u.Images[i]
		if img.BelongsTo != "" || img.Recorded { // a list with that digest would delete the image
			continue
		}
		for _, name := range img.names(host) {
			selected := false
			for s := range used {
				if selects(s, name, img.Digest) {
					used[s], selected = true, true
				}
			}
			if selected {
				f.Items = append(f.Items, deletion.Item{Source: env.RegistryScheme + name.String(), Image: name, Type: "generic", Digest: img.Digest})
			}
		}
	}
	for _, s := range slices.Sorted(maps.Keys(used)) {
		if !used[s] {
			return env.InputHint("list all with gantry prune --others; what belongs to an image that a record lists cannot be selected, and neither can its other tags", "%s selects nothing that no record of %s lists", s, o.Mirror)
		}
	}
	text, err := f.Write()
	if err == nil {
		err = durable.WriteFile(o.Save, text)
	}
	if err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	u.Saved, u.Selected = o.Save, len(f.Items)
	return nil
}
