package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/repair"
	"github.com/gantry-mirror/gantry/plan"
)

func (a *app) archiveRepairRequestCommand() *cobra.Command {
	var f archiveFlags
	var to string
	c := &cobra.Command{
		Use:   "repair-request file://DIR... [-o FILE]",
		Short: "Ask the connected side for what was damaged or lost",
		Long: `Repair-request reads every byte of an archive, as gantry verify does, and writes a
small file that names each manifest and blob which cannot be read, and nothing else.
Take it to the connected side, where gantry mirror --repair FILE file://DIR writes
just that. The folder that comes back is named beside the damaged one, and the
archive is whole again.

Where nothing is lost, nothing is written, and the exit status is 0; where
something is, it is 4, as that of gantry verify. A set manifest that is damaged or
lost is a small file: bring it again.

` + archiveHelp + `
` + exitStatusHelp,
		Example: `  gantry archive repair-request file:///media/disk -o request.json
  gantry archive repair-request file:///media/disk1 file:///media/disk2 > request.json
  gantry mirror --repair request.json file:///media/repair
  gantry mirror --from file:///media/disk --from file:///media/repair docker://mirror.example.com:5000/ocp`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.archiveRepairRequest(cmd.Context(), &f, to, args)
		},
	}
	f.addFlags(c.Flags())
	c.Flags().StringVarP(&to, "to", "o", "", "file to write (default: stdout)")
	return c
}

func (a *app) archiveRepairRequest(ctx context.Context, f *archiveFlags, to string, args []string) error {
	have, err := a.lookInto(f, args)
	if err != nil {
		return err
	}
	defer func() { _ = have.Close() }() // only read from
	a.saySigned(have)
	damage, err := a.readAll(ctx, have)
	if err != nil {
		return err
	}
	owner, lost, err := lostOf(have, damage, f.sequence)
	if err != nil {
		return err
	}
	of := have
	if owner.Sequence != have.Newest().Sequence {
		// The images that have it are those of that set's plan.
		if of, err = a.lookInto(&archiveFlags{trust: f.trust, sequence: owner.Sequence}, args); err != nil {
			return err
		}
		defer func() { _ = of.Close() }() // only read from
	}
	request, err := requestOf(ctx, of, lost)
	if err != nil {
		return err
	}
	where := strings.Join(args, ", ")
	if len(request.Content) == 0 && !request.PlanLost {
		for _, d := range damage {
			a.warn("damaged, but nothing is lost by it: %s", d)
		}
		a.say("there is nothing to ask for: all content in %s can be read", where)
		return nil
	}
	if to == "" || to == toStdout {
		err = request.Write(a.stdout)
	} else {
		err = durable.Write(to, request.Write)
	}
	if err != nil {
		return fmt.Errorf("writing the repair request: %w", err)
	}
	what := number(len(request.Content), "manifest or blob", "manifests and blobs")
	if request.PlanLost {
		what += " and the plan"
	}
	return &hintError{
		&mismatchError{fmt.Sprintf("the archive in %s lacks %s (%s) of sequence %d", where, what, progress.Bytes(requestBytes(request)), request.Sequence)},
		": ", "take the request to the connected side and run gantry mirror --repair FILE file://DIR there",
	}
}

// readAll reads every byte of an archive and returns what is damaged.
func (a *app) readAll(ctx context.Context, have *archive.Archive) ([]archive.Damage, error) {
	var done atomic.Int64
	stop := a.show("checking", func() progress.Reading {
		return progress.Reading{Total: have.Size(), Done: done.Load(), Moved: done.Load()}
	})
	err := have.Verify(ctx, func(n int64) { done.Add(n) })
	stop()
	var damage *archive.DamageError
	if errors.As(err, &damage) {
		return damage.Damage, nil
	}
	return nil, err
}

// lostOf finds the set that lost content, and what it lost. A repair mends one set:
// where several lost some, one has to be chosen, by its number.
func lostOf(have *archive.Archive, damage []archive.Damage, chosen int) (owner archive.BaseSet, lost []archive.EntryInfo, err error) {
	owner = have.Newest().BaseSet
	gone := map[digest.Digest]bool{}
	for _, d := range (&archive.DamageError{Damage: damage}).Lost() {
		gone[d] = true
	}
	of := map[archive.BaseSet][]archive.EntryInfo{}
	for e := range have.Entries() {
		if e.Content && !e.Repair && gone[e.Digest] && e.Part <= 1 {
			delete(gone, e.Digest) // the newest set that has it stands for all
			of[e.Set] = append(of[e.Set], e)
		}
	}
	switch {
	case len(of) == 0, chosen != 0:
		return owner, of[owner], nil
	case len(of) == 1:
		for owner, lost = range of {
			return owner, lost, nil
		}
	}
	var names []string
	for _, s := range slices.SortedFunc(maps.Keys(of), func(a, b archive.BaseSet) int { return cmp.Compare(a.Sequence, b.Sequence) }) {
		names = append(names, fmt.Sprintf("--sequence %d", s.Sequence))
	}
	return owner, nil, usageHint("run this once with each of "+strings.Join(names, ", "), "several archives lost content, and a request is for one")
}

// requestOf is the request for what the set lost that was opened.
func requestOf(ctx context.Context, have *archive.Archive, lost []archive.EntryInfo) (*repair.Request, error) {
	s := have.Newest()
	r := &repair.Request{Name: s.Series, Sequence: s.Sequence, Set: s.Set, Plan: have.PlanDigest(), Encrypted: s.Encrypted}
	p, err := carry.ReadPlan(ctx, have)
	var planDamage *archive.DamageError
	switch {
	case errors.As(err, &planDamage):
		r.PlanLost = true
	case err != nil && len(lost) > 0:
		return nil, fmt.Errorf("finding the images that have what is lost: %w", err)
	case errors.Is(err, fs.ErrNotExist): // an earlier set has it, and lost nothing
	case err != nil:
		return nil, err
	}
	var digests []digest.Digest
	for _, e := range lost {
		digests = append(digests, e.Digest)
	}
	holders := map[digest.Digest][]*plan.Image{}
	if p != nil {
		if holders, err = mirror.Holders(p, digests); err != nil {
			return nil, err
		}
	}
	for _, e := range lost {
		c := repair.Content{Digest: e.Digest, Size: e.Whole, MediaType: e.MediaType, Sources: []string{}}
		for _, img := range holders[e.Digest] {
			c.Sources = append(c.Sources, img.Source)
		}
		slices.Sort(c.Sources)
		c.Sources = slices.Compact(c.Sources)
		c.Sources = c.Sources[:min(len(c.Sources), maxRequestSources)]
		if len(c.Sources) > 0 || p == nil { // what no image needs is not missed
			r.Content = append(r.Content, c)
		}
	}
	slices.SortFunc(r.Content, func(a, b repair.Content) int { return cmp.Compare(a.Digest, b.Digest) })
	return r, nil
}

// maxRequestSources is how many of the images that share a blob a request names: any
// of them will do.
const maxRequestSources = 20

// requestBytes is how much a request asks for.
func requestBytes(r *repair.Request) (n int64) {
	for _, c := range r.Content {
		n += c.Size
	}
	return n
}
