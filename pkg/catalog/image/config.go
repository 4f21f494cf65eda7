package image

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
)

// rebuiltConfig is the config of a platform without the dropped layers and with
// the new one on top. Time and everything unknown stay as they are.
func (p *platform) rebuiltConfig(drop []bool, diffID digest.Digest, c change) (object, error) {
	rootfs, err := p.config.object("rootfs")
	if err != nil {
		return nil, err
	}
	kept := []digest.Digest{}
	for n, id := range p.diffIDs {
		if !drop[n] {
			kept = append(kept, id)
		}
	}
	if rootfs, err = rootfs.with("diff_ids", append(kept, diffID)); err != nil {
		return nil, err
	}
	config, err := p.config.with("rootfs", rootfs)
	if err != nil {
		return nil, err
	}
	if config, err = p.withCommand(config, c.command); err != nil {
		return nil, err
	}
	return p.withHistory(config, drop, c.by)
}

// withCommand sets the command, where it is not what it was.
func (p *platform) withCommand(config object, c command) (object, error) {
	inner, err := config.object("config")
	if err != nil {
		return nil, err
	}
	changed := false
	for _, f := range []struct {
		key      string
		old, new []string
	}{
		{"Entrypoint", p.command.entrypoint, c.entrypoint},
		{"Cmd", p.command.cmd, c.cmd},
	} {
		if slices.Equal(f.old, f.new) {
			continue
		}
		changed = true
		if inner, err = inner.with(f.key, f.new); err != nil {
			return nil, err
		}
		if len(f.new) == 0 {
			inner = inner.without(f.key)
		}
	}
	if !changed {
		return config, nil
	}
	return config.with("config", inner)
}

// withHistory takes the dropped layers out of the history and adds the new one,
// at the time of the image. A history that does not match the layers says
// nothing about them and goes.
func (p *platform) withHistory(config object, drop []bool, by string) (object, error) {
	var history []json.RawMessage
	if err := config.field("history", &history); err != nil {
		return nil, err
	}
	if len(history) == 0 {
		return config, nil
	}
	kept := []json.RawMessage{}
	layer := 0
	for n, line := range history {
		var step struct {
			Empty bool `json:"empty_layer"`
		}
		if err := json.Unmarshal(line, &step); err != nil {
			return nil, fmt.Errorf("reading line %d of the history: %w", n+1, err)
		}
		if !step.Empty {
			if layer == len(drop) {
				return config.without("history"), nil
			}
			layer++
			if drop[layer-1] {
				continue
			}
		}
		kept = append(kept, line)
	}
	if layer != len(drop) {
		return config.without("history"), nil
	}
	step := object{}
	if created, ok := config["created"]; ok {
		step["created"] = created
	}
	step, err := step.with("created_by", "gantry: "+by)
	if err != nil {
		return nil, err
	}
	line, err := encode(step)
	if err != nil {
		return nil, err
	}
	return config.with("history", append(kept, line))
}
