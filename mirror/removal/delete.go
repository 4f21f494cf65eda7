package removal

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/deletion"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// DeletionListOptions says what ListDeletions looks for, and where. Config and Mirror are required.
type DeletionListOptions struct {
	Env *env.Env
	// Config is the file of a DeleteImageSetConfiguration.
	Config string
	// Mirror is docker://HOST[:PORT][/PREFIX].
	Mirror string
	// Name is the image set that loses the content; "" for every image set of the mirror.
	Name string
	// Workspace is the folder of the workspace. The files are written to the folder delete in it, or in the folder
	// working-dir of it. The default is env.DefaultWorkspace.
	Workspace string
	// Layout is workspace.GantryLayout or workspace.OCMirrorLayout, whose folder is working-dir/delete. The default is the one of the
	// workspace.
	Layout string
	// DeleteID is added to the names of the files.
	DeleteID string
	// MaxNestedPaths is how many path components the registry allows, as in the runs that mirrored to it; 0
	// is no limit.
	MaxNestedPaths int
}

// A DeletionList is the result of ListDeletions. Its JSON is what gantry prune -c --output json prints.
type DeletionList struct {
	Version int `json:"version"`
	// Mirror is docker://HOST[:PORT][/PREFIX].
	Mirror string `json:"mirror"`
	// File has the images, in the format of oc mirror, and ConfigFile is a copy of the configuration.
	File       string `json:"file"`
	ConfigFile string `json:"configFile"`
	// Images are what can be deleted. Bytes is the size of what nothing else refers to.
	Images []DeletedImage `json:"images"`
	Bytes  int64          `json:"bytes"`
	// Stays is what the configuration names and what stays.
	Stays []StayingImage `json:"stays,omitempty"`
	// Absent are images that the configuration selects and that the mirror does not have.
	Absent []string `json:"absent,omitempty"`
	// Unmatched is what the configuration names and no image set of the mirror has.
	Unmatched []string `json:"unmatched,omitempty"`
	// ImageSets are the image sets that have the selected images: their next runs bring these back unless
	// their configurations change.
	ImageSets []string `json:"imageSets,omitempty"`
}

// A DeletedImage is an image that can be deleted.
type DeletedImage struct {
	// Source is the image as its catalog or the configuration names it, Image the one in the mirror.
	Source string         `json:"source"`
	Image  string         `json:"image"`
	Kind   plan.ImageKind `json:"kind"`
	// Digest is its digest in the mirror.
	Digest digest.Digest `json:"digest"`
}

// A StayingImage is an image that stays, and why.
type StayingImage struct {
	Source string `json:"source"`
	Image  string `json:"image"`
	Reason string `json:"reason"`
}

// maxDeletionID is the maximum length of DeletionListOptions.DeleteID.
const maxDeletionID = 100

func (o *DeletionListOptions) check() error {
	switch {
	case o.Config == "":
		return env.InputHint("set Options.Config to a DeleteImageSetConfiguration", "no configuration")
	case o.Layout != "" && !slices.Contains(workspace.Layouts(), o.Layout):
		return env.InputHint("give "+strings.Join(workspace.Layouts(), " or "), "Options.Layout %q", o.Layout)
	case len(o.DeleteID) > maxDeletionID || strings.Trim(strings.ToLower(o.DeleteID), "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" || strings.Contains(o.DeleteID, "..") || strings.ContainsAny(o.DeleteID, `/\`):
		return env.InputHint("use letters, digits, dots, _ and -", "Options.DeleteID %q cannot be part of a file name", o.DeleteID)
	}
	return nil
}

// ListDeletions finds what a DeleteImageSetConfiguration selects of the image sets that the mirror has
// records of, and writes a list of it. It deletes nothing. What other image sets need is not in the list, nor
// what other content of the mirror refers to.
func ListDeletions(ctx context.Context, o DeletionListOptions) (*DeletionList, error) {
	e, closeEnv := o.Env.OrDefault()
	defer closeEnv()
	if err := o.check(); err != nil {
		return nil, err
	}
	t, err := site.OpenMirror(e, o.Mirror, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
	if err != nil {
		return nil, err
	}
	config, err := imageset.LoadDeletion(o.Config)
	if err == nil {
		err = config.Usable()
	}
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	selection.WarnConfig(e, &imageset.Config{Pos: config.Pos, Warnings: config.Warnings})
	s, err := workspace.OpenSession(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer s.Release()
	if o.Layout != "" {
		if err := s.UseLayout(state.FileLayout(o.Layout), false); err != nil {
			return nil, err
		}
	}
	d := &deletions{selector: deletion.New(config), name: o.Name, wanted: map[imagePlace]string{}, choices: map[string]*deletion.Choice{}}
	r, err := readRevisions(ctx, e, &PruneOptions{Now: time.Now, OnlyMirror: true}, s, t, d)
	if err != nil {
		return nil, err
	}
	if !d.read {
		return nil, env.InputHint("run gantry status "+o.Mirror+", which lists them", "the mirror %s has no image set %q", t, o.Name)
	}
	p, err := r.plan(ctx)
	if err != nil {
		return nil, err
	}
	list := d.list(r, p)
	list.Version, list.Mirror = 1, t.String()
	return list, list.write(filepath.Join(s.FilesDir(), "delete"), o.DeleteID, config.Text, d.choices)
}

// The names of the files of oc mirror. An ID is added to them.
const (
	deletionListName   = "delete-images"
	deletionConfigName = "delete-imageset-config"
)

// listedType is a kind of image in the list of oc mirror.
func listedType(kind plan.ImageKind) string {
	switch kind {
	case plan.ReleaseImage:
		return "ocpRelease"
	case plan.ComponentImage, plan.BootImage:
		return "ocpReleaseContent"
	case plan.GraphImage:
		return "cincinnatiGraph"
	case plan.CatalogImage:
		return "operatorCatalog"
	case plan.BundleImage:
		return "operatorBundle"
	case plan.RelatedImage:
		return "operatorRelatedImage"
	case plan.ChartImage:
		return "helmImage"
	default:
		return "generic"
	}
}

// write writes the list, with what the plans of image sets lose, and the copy of the configuration.
func (l *DeletionList) write(dir, id string, config []byte, removes map[string]*deletion.Choice) error {
	f := &deletion.File{Removes: removes}
	for _, img := range l.Images {
		name := img.Source
		if !strings.Contains(name, "://") {
			name = env.RegistryScheme + name
		}
		ref, err := reference.Parse(img.Image)
		if err != nil {
			return err
		}
		f.Items = append(f.Items, deletion.Item{Source: name, Image: ref, Type: listedType(img.Kind), Digest: img.Digest})
	}
	text, err := f.Write()
	if err != nil {
		return err
	}
	if id != "" {
		id = "-" + id
	}
	l.File, l.ConfigFile = filepath.Join(dir, deletionListName+id+".yaml"), filepath.Join(dir, deletionConfigName+id+".yaml")
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return advice.Wrap(advice.Failure, fmt.Errorf("writing the list: %w", err), "")
	}
	if err := durable.WriteFile(l.File, text); err != nil {
		return advice.Wrap(advice.Failure, fmt.Errorf("writing the list: %w", err), "")
	}
	if err := durable.WritePrivate(l.ConfigFile, config); err != nil {
		return advice.Wrap(advice.Failure, fmt.Errorf("writing the copy of the configuration: %w", err), "")
	}
	return nil
}
