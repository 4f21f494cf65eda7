package image

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"
)

// rebuiltConfig returns the config of a platform without the dropped layers and with the new one on
// top. The creation time and all unknown fields stay.
func (p *Platform) rebuiltConfig(drop []bool, diffID digest.Digest, c Change) (Object, error) {
	rootfs, err := p.Config.Object("rootfs")
	if err != nil {
		return nil, err
	}
	kept := []digest.Digest{}
	for n, id := range p.DiffIDs {
		if !drop[n] {
			kept = append(kept, id)
		}
	}
	if rootfs, err = rootfs.With("diff_ids", append(kept, diffID)); err != nil {
		return nil, err
	}
	config, err := p.Config.With("rootfs", rootfs)
	if err != nil {
		return nil, err
	}
	if config, err = p.withCommand(config, c.Command); err != nil {
		return nil, err
	}
	if config, err = withLabels(config, c.Labels); err != nil {
		return nil, err
	}
	return p.withHistory(config, drop, c.By)
}

// withLabels sets labels.
func withLabels(config Object, values map[string]string) (Object, error) {
	if len(values) == 0 {
		return config, nil
	}
	inner, err := config.Object("config")
	if err != nil {
		return nil, err
	}
	labels, err := inner.Object("Labels")
	if err != nil {
		return nil, err
	}
	for key, value := range values {
		if labels, err = labels.With(key, value); err != nil {
			return nil, err
		}
	}
	if inner, err = inner.With("Labels", labels); err != nil {
		return nil, err
	}
	return config.With("config", inner)
}

// withCommand sets the command if it has changed.
func (p *Platform) withCommand(config Object, c Command) (Object, error) {
	inner, err := config.Object("config")
	if err != nil {
		return nil, err
	}
	changed := false
	for _, f := range []struct {
		key      string
		old, new []string
	}{
		{"Entrypoint", p.Command.Entrypoint, c.Entrypoint},
		{"Cmd", p.Command.Cmd, c.Cmd},
	} {
		if slices.Equal(f.old, f.new) {
			continue
		}
		changed = true
		if inner, err = inner.With(f.key, f.new); err != nil {
			return nil, err
		}
		if len(f.new) == 0 {
			inner = inner.Without(f.key)
		}
	}
	if !changed {
		return config, nil
	}
	return config.With("config", inner)
}

// withHistory removes the dropped layers from the history and adds the new one, with the creation
// time of the image. It removes a history that does not match the layers.
func (p *Platform) withHistory(config Object, drop []bool, by string) (Object, error) {
	var history []json.RawMessage
	if err := config.Field("history", &history); err != nil {
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
				return config.Without("history"), nil
			}
			layer++
			if drop[layer-1] {
				continue
			}
		}
		kept = append(kept, line)
	}
	if layer != len(drop) {
		return config.Without("history"), nil
	}
	step := Object{}
	if created, ok := config["created"]; ok {
		step["created"] = created
	}
	step, err := step.With("created_by", "gantry: "+by)
	if err != nil {
		return nil, err
	}
	line, err := encode(step)
	if err != nil {
		return nil, err
	}
	return config.With("history", append(kept, line))
}
