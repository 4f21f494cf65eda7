package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/carry"
	"github.com/gantry-mirror/gantry/pkg/durable"
	"github.com/gantry-mirror/gantry/pkg/progress"
	"github.com/gantry-mirror/gantry/pkg/repair"
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
	request, err := carry.RequestRepair(ctx, have, damage, f.sequence != 0, func(sequence int) (*archive.Archive, error) {
		return a.lookInto(&archiveFlags{trust: f.trust, sequence: sequence}, args)
	})
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

// requestBytes is how much a request asks for.
func requestBytes(r *repair.Request) (n int64) {
	for _, c := range r.Content {
		n += c.Size
	}
	return n
}
