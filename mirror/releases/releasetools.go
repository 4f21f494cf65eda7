package releases

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/mirror/pull"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/platform/tools"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/site"
)

// ToolOptions says which tools of a release ReleaseTools lists or extracts.
type ToolOptions struct {
	ReleaseOptions
	// Names are those of release.ToolNames. The default is release.DefaultToolNames if To is set, or what the plan
	// of an archive has; otherwise all.
	Names []string
	// Platforms are those of release.ToolPlatforms, "linux/amd64". The default is Linux on the architecture
	// of the release (for several on amd64) if To is set, or what the plan of an archive has; otherwise
	// all.
	Platforms []string
	// To is the folder for the files. It is created if it does not exist; files with the same names
	// are replaced. Without it, tools are only listed.
	To string
	// ReleaseImage is the image by digest that openshift-install installs. The default is the release
	// image that is read, by its digest; for an archive, at its source.
	ReleaseImage string
}

// A ReleaseToolList is the result of ReleaseTools. Its JSON is what gantry release tools --output json
// prints.
type ReleaseToolList struct {
	Version int           `json:"version"`
	Release string        `json:"release"`
	Arch    release.Arch  `json:"arch"`
	Digest  digest.Digest `json:"digest"`
	// ReleaseImage is what openshift-install installs, if tools were extracted.
	ReleaseImage string        `json:"releaseImage,omitempty"`
	Tools        []ReleaseTool `json:"tools"`
	Notes        []string      `json:"notes,omitempty"`
}

// A ReleaseTool is a tool for a platform.
type ReleaseTool struct {
	Name     string `json:"name"`
	Platform string `json:"platform"`
	// File is the name of its file, and Image the image of the release that has it.
	File  string `json:"file"`
	Image string `json:"image"`
	// Digest and Size are those of the file, if it was written.
	Digest digest.Digest `json:"digest,omitempty"`
	Size   int64         `json:"size,omitempty"`
}

// ReleaseTools lists the tools in the images of a release, or writes them to files: oc,
// openshift-install, oc-mirror and others. Versions and the release image are written into them as oc adm
// release extract does. The same release gives the same bytes wherever it is read, if ReleaseImage is the
// same.
func ReleaseTools(ctx context.Context, o ToolOptions) (*ReleaseToolList, error) {
	e, done := o.Env.OrDefault()
	defer done()
	platforms, err := o.check()
	if err != nil {
		return nil, err
	}
	s, p, err := readRelease(ctx, e, o.ReleaseOptions)
	if err != nil {
		return nil, err
	}
	defer s.close()
	list := &ReleaseToolList{Version: 1, Release: p.Version, Arch: p.Arch, Digest: p.Digest, Tools: []ReleaseTool{}}
	if o.To == "" {
		for _, t := range tools.All(p) {
			if (len(o.Names) == 0 || slices.Contains(o.Names, t.Name)) && (len(platforms) == 0 || slices.Contains(platforms, t.Platform)) {
				list.Tools = append(list.Tools, releaseTool(&t, p))
			}
		}
		return list, nil
	}
	selected, notes, err := s.SelectTools(p, o.Names, platforms)
	if err != nil {
		return nil, err
	}
	list.Notes = notes
	if list.ReleaseImage, err = s.ReleaseImage(o.ReleaseImage, p); err != nil {
		return nil, err
	}
	if err := s.ExtractTools(ctx, p, selected, list, o.To, true); err != nil {
		return nil, err
	}
	for _, note := range list.Notes {
		e.Warnf("%s", note)
	}
	return list, nil
}

// ToolPlatforms returns the platforms that releases have tools for: "linux/amd64".
func ToolPlatforms() []string {
	return elements.Map(release.ToolPlatforms(), func(p release.ToolPlatform) string { return p.String() })
}

// check returns the platforms, or an error for names that are unknown.
func (o *ToolOptions) check() ([]release.ToolPlatform, error) {
	var platforms []release.ToolPlatform
	for _, text := range o.Platforms {
		p, err := release.ParseToolPlatform(text)
		if err != nil {
			return nil, err
		}
		platforms = append(platforms, p)
	}
	for _, name := range o.Names {
		if err := release.CheckToolName(name); err != nil {
			return nil, err
		}
	}
	if o.ReleaseImage == "" {
		return platforms, nil
	}
	if o.To == "" {
		return nil, env.InputHint("set Options.To, too", "Options.ReleaseImage is for tools that are extracted")
	}
	ref, err := reference.Parse(o.ReleaseImage)
	if err == nil && (ref.Digest == "" || ref.Tag != "") {
		err = errors.New("it must have a digest and no tag")
	}
	if err != nil {
		return nil, env.Inputf("Options.ReleaseImage %s: %w", o.ReleaseImage, err)
	}
	return platforms, nil
}

// SelectTools returns the tools to extract. Without names and platforms, they are those that the plan of
// an archive has, if any.
func (s *ReleaseSource) SelectTools(p *payload.Payload, names []string, platforms []release.ToolPlatform) ([]tools.Tool, []string, error) {
	if len(names) > 0 || len(platforms) > 0 || len(s.Tools) == 0 {
		return tools.Select(p, names, platforms)
	}
	all := tools.All(p)
	var selected []tools.Tool
	for _, t := range s.Tools {
		i := slices.IndexFunc(all, func(a tools.Tool) bool { return a.Name == t.Name && a.Platform.String() == t.Platform })
		if i < 0 {
			return nil, nil, env.InputHint("use the version of gantry that wrote the archive, or a newer one, or name other tools", "the plan has %s for %s, which is unknown", t.Name, t.Platform)
		}
		selected = append(selected, all[i])
	}
	return selected, nil, nil
}

// releaseTool returns what is known about a tool before it is extracted.
func releaseTool(t *tools.Tool, p *payload.Payload) ReleaseTool {
	return ReleaseTool{Name: t.Name, Platform: t.Platform.String(), File: t.File(p.Version, p.Arch), Image: t.Component}
}

// ReleaseImage returns the reference that openshift-install installs: the given one, or the release
// image that was read.
func (s *ReleaseSource) ReleaseImage(given string, p *payload.Payload) (string, error) {
	if given != "" {
		return given, nil
	}
	ref, err := reference.Parse(s.Source)
	if err != nil {
		return "", env.InputHint("set Options.ReleaseImage to the release image by its digest "+p.Digest.String(),
			"%s does not say where clusters find the release that openshift-install installs", s.Source)
	}
	return ref.Repository().WithDigest(p.Digest).String(), nil
}

// ExtractTools writes tools to a folder and adds them to the list. Without force, a file that exists with
// other content is an error.
func (s *ReleaseSource) ExtractTools(ctx context.Context, p *payload.Payload, selected []tools.Tool, list *ReleaseToolList, dir string, force bool) error {
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return env.Inputf("Options.To: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return env.Inputf("Options.To: %w", err)
	}
	defer func() { _ = root.Close() }() // what was written is synced
	folder := durable.Folder{Root: root}
	drafts := map[*tools.Tool]*durable.Draft{}
	o := tools.Options{ReleaseImage: list.ReleaseImage, Sources: s.componentSources}
	err = tools.Extract(ctx, s.Images, p, selected, o, func(t *tools.Tool) (tools.Output, error) {
		d, err := folder.DraftProgram(".")
		if err != nil {
			return nil, err
		}
		drafts[t] = d
		return d, nil
	}, func(x tools.Extracted) error {
		d := drafts[x.Tool]
		delete(drafts, x.Tool)
		t := releaseTool(x.Tool, p)
		t.Digest, t.Size = x.Digest, x.Size
		if !force {
			if present, err := isPresent(ctx, root, &t); err != nil || present {
				err = errors.Join(err, d.Discard())
				if err == nil {
					list.add(t, x.Notes)
				}
				return err
			}
		}
		if err := d.Commit(t.File); err != nil {
			return err
		}
		list.add(t, x.Notes)
		return nil
	})
	for _, d := range drafts {
		err = errors.Join(err, d.Discard())
	}
	elements.Sort(list.Tools, func(a, b ReleaseTool) int { return cmp.Compare(a.File, b.File) })
	if err != nil && advice.Hint(err) == "" {
		return advice.Wrap(advice.KindOf(err), err, "if an image is missing, give a source, mirror or archive with all images of the release")
	}
	return err
}

// add adds a tool that was written.
func (l *ReleaseToolList) add(t ReleaseTool, notes []string) {
	l.Tools, l.Notes = append(l.Tools, t), append(l.Notes, notes...)
}

// isPresent reports whether a folder has a tool. Other content of that name is an error.
func isPresent(ctx context.Context, root *os.Root, t *ReleaseTool) (bool, error) {
	f := site.MirroredFile{Name: t.File, Size: t.Size, SHA256: t.Digest, Executable: true}
	if info, err := root.Lstat(t.File); err == nil && !info.Mode().IsRegular() {
		return false, pull.Exists(filepath.Join(root.Name(), t.File))
	}
	same, err := pull.HasContent(ctx, root, t.File, f)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !same:
		return false, pull.Exists(filepath.Join(root.Name(), t.File))
	}
	return true, pull.MakeProgram(root, t.File, f)
}

// componentSources returns where an image of the release may be. A mirror has it beside the release
// image, in openshift/release for openshift/release-images, or in the same repository, as oc adm release
// mirror writes it.
func (s *ReleaseSource) componentSources(c *payload.Component) []string {
	ref, err := reference.Parse(s.Source)
	if err != nil {
		return []string{s.Source} // a layout
	}
	content, err := reference.Parse(c.Ref)
	if err == nil && content.Host == ref.Host {
		return []string{c.Ref}
	}
	var sources []string
	repository := ref.Repository()
	if beside, ok := strings.CutSuffix(repository.Path, "-images"); ok && strings.HasSuffix(path.Base(beside), "release") {
		repository.Path = beside
		sources = append(sources, repository.String())
	}
	return append(sources, ref.Repository().String(), c.Ref)
}
