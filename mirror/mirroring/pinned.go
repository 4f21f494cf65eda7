package mirroring

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// savePinned writes the configuration of a run with the digests of its catalogs, and a DeleteImageSetConfiguration that
// selects the same, as oc mirror does: only in the layout of oc mirror, if they are not the same as the last ones, and if no
// address in the configuration has a password.
func (r *openedRun) savePinned(p *plan.Plan, now time.Time) error {
	if r.have != nil || r.session.UsesLayout() != state.OCMirrorLayout {
		return nil
	}
	// Planning changes what it has read, so the file is read again. Standard input cannot be.
	if read, err := r.o.Selection.Load(); err == nil && read.Config != nil {
		return savePinned(r.session, read.Config, p, "_pinned_"+now.UTC().Format(time.RFC3339)+".yaml")
	}
	return nil
}

func savePinned(s *workspace.Session, c *imageset.Config, p *plan.Plan, suffix string) error {
	for i := range c.Mirror.Operators {
		pin(&c.Mirror.Operators[i], p)
	}
	deleted := imageset.Deletion{Delete: c.Mirror}
	deleted.Delete.Operators = slices.Clone(c.Mirror.Operators)
	for i := range deleted.Delete.Operators {
		op := &deleted.Delete.Operators[i]
		op.Dependencies, op.Installed = false, nil // they select nothing to delete
	}
	deleted.Delete.AdditionalImages = slices.DeleteFunc(slices.Clone(c.Mirror.AdditionalImages), func(i imageset.Image) bool { return i.Tags != nil })
	for _, f := range []struct {
		name string
		of   json.Marshaler
	}{{"isc", c}, {"disc", deleted}} {
		text, err := f.of.MarshalJSON()
		if err == nil {
			text, err = yaml.JSONToYAML(text)
		}
		if err == nil && redact.Text(string(text)) != string(text) {
			s.Env.Noticef("the configuration is not written with digests, because an address in it has a password or a token")
			return nil
		}
		var last []byte
		if err == nil {
			last, err = s.NewestFile(f.name + "_pinned_*.yaml")
		}
		if err == nil && !bytes.Equal(last, text) {
			_, err = s.SaveFile(f.name+suffix, text)
		}
		if err != nil {
			return fmt.Errorf("writing the configuration with digests: %w", err)
		}
	}
	return nil
}

// pin replaces the tag of a catalog by the digest in the plan. The catalog keeps its tag in the mirror.
func pin(op *imageset.Operator, p *plan.Plan) {
	ref, err := reference.Parse(op.Catalog)
	i := slices.IndexFunc(p.Catalogs, func(c plan.Catalog) bool { return c.Source == op.Catalog })
	if err != nil || i < 0 || ref.Tag == "" || ref.Digest != "" {
		return
	}
	op.TargetTag = cmp.Or(op.TargetTag, ref.Tag)
	op.Catalog = ref.Name() + "@" + string(p.Catalogs[i].SourceDigest)
}
