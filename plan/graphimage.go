package plan

import "context"

// buildGraph reads the graph data and builds the image that carries it.
func (p *platform) buildGraph(ctx context.Context) error {
	return nil
}
