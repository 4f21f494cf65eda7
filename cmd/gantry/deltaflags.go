package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/remote/limits"
)

// deltaFlags are the flags that say how an archive carries changed blobs.
type deltaFlags struct {
	delta     string
	deltaTime time.Duration
	compact   compactFlags
	set       *pflag.FlagSet
}

func (d *deltaFlags) addFlags(f *pflag.FlagSet) {
	d.set = f
	f.StringVar(&d.delta, "delta", mirroring.DeltaAuto, "how an archive carries blobs that resemble those of the site: auto, off (whole), or max (as small as possible, at any cost)")
	d.compact.addFlags(f)
	f.DurationVar(&d.deltaTime, "delta-time", mirroring.DefaultDeltaTime, "processor time that --delta auto may spend for each MB that a delta saves: detecting the compressor, and comparing")
}

// apply sets the options whose flags were given.
func (d *deltaFlags) apply(o *mirroring.ArchiveOptions) error {
	if d.set.Changed("delta") {
		o.Delta = d.delta
	}
	if err := d.compact.checkValues(); err != nil {
		return err
	}
	o.CompactOptions = d.compact.options
	if !d.set.Changed("compact") {
		o.Compact = ""
	}
	if d.set.Changed("delta-time") {
		if d.deltaTime <= 0 {
			return usageHint("use a duration such as 1s or 500ms", "--delta-time %s", d.deltaTime)
		}
		o.DeltaTime = d.deltaTime
	}
	return nil
}

// compactFlags are the flags of archives whose blobs are based on each other.
type compactFlags struct {
	options mirroring.CompactOptions
	set     *pflag.FlagSet
}

func (c *compactFlags) addFlags(f *pflag.FlagSet) {
	c.set = f
	f.StringVar(&c.options.Compact, "compact", mirroring.DeltaOff, "how an archive carries blobs that resemble others of the same archive: off (whole), auto (as their difference, if the time is worth it), or max (as small as possible)")
	parsedFlag(f, &c.options.DiskSpeed, "disk-speed", "string", "", optional(limits.ParseRate), "how fast the disk can be written: --compact auto takes no longer than writing what it saves (default: 30MB)")
	f.IntVar(&c.options.CompactDependents, "compact-dependents", 0, "how many blobs of a compact archive may need the same one, and are lost with it (default: 64)")
}

// check checks the flags of a plan that is compared with a destination.
func (c *compactFlags) check(destination string) error {
	given := c.set.Changed("compact") || c.set.Changed("disk-speed") || c.set.Changed("compact-dependents")
	if given && !strings.HasPrefix(destination, fileScheme) {
		return usageHint("name file://DIR as the destination", "--compact, --disk-speed and --compact-dependents are for archives")
	}
	return c.checkValues()
}

func (c *compactFlags) checkValues() error {
	switch {
	case !slices.Contains(mirroring.Deltas(), c.options.Compact):
		return usageHint("use auto, off or max", "--compact %q", c.options.Compact)
	case c.set.Changed("compact-dependents") && c.options.CompactDependents < 1:
		return usageHint("give a number of blobs, 1 or more", "--compact-dependents %d", c.options.CompactDependents)
	}
	return nil
}
