package histories

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
)

// A command is a run of a step, and what it means for the model.
type command struct {
	run  run
	may  []advice.Kind
	skip bool // it does not apply
	// after changes the model once the run ended.
	after func(outcome) error
}

// command executes the run of a step.
func (e *engine) command(ctx context.Context, s *step) error {
	c, err := e.begin(ctx, s)
	if err != nil || c.skip {
		return err
	}
	how, err := e.execute(ctx, c.run, s, c.may...)
	if err != nil {
		return err
	}
	return c.after(how)
}

// sure executes a run. If it is refused because the workspace still knows an image set that another workspace gave up as the
// last one of the mirror, that is given up here, too.
func (e *engine) sure(ctx context.Context, r run) (*removal.PruneResult, error) {
	execute := func(r run) (*removal.PruneResult, error) {
		e.lists.settle(false)
		result, err := r.execute(ctx)
		e.lists.settle(err == nil && (r.Verb == "prune" || r.Verb == "delete"))
		return result, err
	}
	result, err := execute(r)
	for range 2 {
		if !isUnknownSet(err) {
			break
		}
		_, name, _ := strings.Cut(err.Error(), "the workspace knows the image set ")
		name = strings.Trim(strings.Split(name, " ")[0], `"`)
		_, prefix, _ := strings.Cut(strings.TrimPrefix(r.To, env.RegistryScheme), "/")
		if known := e.records[target{name, prefix}]; known != nil && known.current() != nil && !known.leaving {
			return nil, fmt.Errorf("%w, which the mirror must have", err)
		}
		forget := r
		forget.Verb, forget.Forget, forget.Yes, forget.Save, forget.Plan = "prune", name, true, "", ""
		if _, err := execute(forget); err != nil {
			return nil, fmt.Errorf("giving up %s in %s: %w", name, r.Workspace, err)
		}
		result, err = execute(r)
	}
	return result, err
}

// isUnknownSet reports whether a run was refused since the workspace knows an image set that the mirror has no record of.
func isUnknownSet(err error) bool {
	return err != nil && strings.Contains(err.Error(), "the mirror has no record of it")
}

// begin returns the run of a step.
func (e *engine) begin(ctx context.Context, s *step) (*command, error) {
	switch s.verb {
	case "mirror":
		return e.mirrors(ctx, s)
	case "prune":
		return e.prunes(ctx, s)
	case "forget":
		return e.forgets(s)
	case "delete":
		return e.deletes(ctx, s)
	}
	return nil, fmt.Errorf("there is no step %q", s.verb)
}

// prunedAll records that a mirror was pruned, or may have been. last is how many revisions stay.
func (e *engine) prunedAll(prefix string, last int) {
	for at, r := range e.records {
		if at.prefix == prefix {
			r.pruned(last)
		}
	}
}

// text returns what the content of an image set follows from: its configuration, and what the source has.
func (e *engine) text(set string) string {
	return fmt.Sprint(e.stanza(e.selections[set]), e.model.state)
}

func (e *engine) mirrors(ctx context.Context, s *step) (*command, error) {
	at := target{s.word(0), s.word(1)}
	if e.selections[at.set] == nil {
		return &command{skip: true}, nil
	}
	w, err := e.model.want(ctx, e.selections[at.set], at.prefix)
	if err != nil {
		return nil, err
	}
	c := &command{run: e.newRun("mirror", at.set, at.prefix, s.word(2))}
	c.run.Prune = s.settings["prune"] != ""
	text := e.text(at.set)
	c.after = func(how outcome) error {
		r := e.records[at]
		if r == nil {
			r = &recorded{}
		}
		switch how {
		case done:
			r.mirrored(w, r.text == text)
			r.text, e.records[at] = text, r
			if c.run.Prune {
				e.prunedAll(at.prefix, 1)
			}
		case killed:
			r.pending, r.text, e.records[at] = append(r.pending, w), "", r
			if c.run.Prune {
				e.prunedAll(at.prefix, 1)
			}
		}
		return nil
	}
	return c, nil
}

// known reports whether a mirror certainly has records.
func (e *engine) known(prefix string) bool {
	for at, r := range e.records {
		if at.prefix == prefix && len(r.revisions) > 0 && !r.leaving {
			return true
		}
	}
	return false
}

func (e *engine) prunes(ctx context.Context, s *step) (*command, error) {
	prefix := s.word(0)
	if !e.known(prefix) {
		return &command{skip: true}, nil
	}
	c := &command{run: e.newRun("prune", "", prefix, s.word(1))}
	last := max(1, s.number("keep"))
	c.run.KeepLast = s.number("keep")
	if s.settings["older"] != "" {
		c.run.OlderThan, last = time.Hour, 1000
	}
	if s.settings["save"] != "" {
		saving := c.run
		saving.Yes, saving.Save = false, e.path("prune.json")
		if _, err := e.sure(ctx, saving); err != nil {
			return nil, err
		}
		c.run.Yes, c.run.Plan = false, saving.Save
	}
	c.after = func(how outcome) error {
		if how != locked {
			e.prunedAll(prefix, last)
		}
		return nil
	}
	return c, nil
}

func (e *engine) forgets(s *step) (*command, error) {
	at := target{s.word(0), s.word(1)}
	r := e.records[at]
	if r == nil || len(r.revisions) == 0 {
		return &command{skip: true}, nil
	}
	c := &command{run: e.newRun("prune", "", at.prefix, s.word(2))}
	c.run.Forget = at.set
	c.may = []advice.Kind{advice.Failure} // others tagged a catalog of it
	c.after = func(how outcome) error {
		switch how {
		case done:
			delete(e.records, at)
		case killed:
			r.leaving = true
		}
		if how == done || how == killed {
			e.prunedAll(at.prefix, 1)
		}
		return nil
	}
	return c, nil
}

// deletes deletes something of an image set, in the mirror and in its configuration. The image set must be in the mirror as its
// configuration has it.
func (e *engine) deletes(ctx context.Context, s *step) (*command, error) {
	at := target{s.word(0), s.word(1)}
	r, skip := e.records[at], &command{skip: true}
	if r == nil || r.current() == nil || len(r.pending) > 0 || r.leaving || r.text != e.text(at.set) {
		return skip, nil
	}
	text, rest := deleted(e.selections[at.set], s.word(3))
	if text == "" {
		return skip, nil
	}
	e.selections[at.set] = rest
	w, err := e.model.want(ctx, rest, at.prefix)
	if err != nil {
		return nil, err
	}
	if err := e.writeConfig(at.set); err != nil {
		return nil, err
	}
	if err := e.write("delete.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete:\n"+text); err != nil {
		return nil, err
	}
	listing := e.newRun("list", at.set, at.prefix, s.word(2))
	listing.Config = e.path("delete.yaml")
	if _, err := listing.execute(ctx); err != nil {
		return nil, err
	}
	c := &command{run: e.newRun("delete", at.set, at.prefix, s.word(2))}
	c.run.ListFile = e.path(s.word(2) + "/delete/delete-images.yaml")
	c.may = []advice.Kind{advice.Partial, advice.Failure} // others need it, or tagged the catalog
	c.after = func(how outcome) error {
		r.text = ""
		if how == done {
			r.revisions = []*want{w}
		} else {
			r.pruned(1)
			r.pending = append(r.pending, w)
		}
		return nil
	}
	return c, nil
}
