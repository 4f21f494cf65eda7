package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
)

// deltaFlags are the flags that say how an archive carries changed blobs.
type deltaFlags struct {
	delta     string
	deltaTime time.Duration
	set       *pflag.FlagSet
}

func (d *deltaFlags) addFlags(f *pflag.FlagSet) {
	d.set = f
	f.StringVar(&d.delta, "delta", mirroring.DeltaAuto, "how an archive carries blobs that resemble those of the site: auto, off (whole), or max (as small as possible, at any cost)")
	f.DurationVar(&d.deltaTime, "delta-time", mirroring.DefaultDeltaTime, "processor time that --delta auto may spend for each MB that a delta saves: detecting the compressor, and comparing")
}

// apply sets the options whose flags were given.
func (d *deltaFlags) apply(o *mirroring.ArchiveOptions) error {
	if d.set.Changed("delta") {
		o.Delta = d.delta
	}
	if d.set.Changed("delta-time") {
		if d.deltaTime <= 0 {
			return usageHint("use a duration such as 1s or 500ms", "--delta-time %s", d.deltaTime)
		}
		o.DeltaTime = d.deltaTime
	}
	return nil
}
