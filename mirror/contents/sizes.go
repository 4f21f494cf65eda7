package contents

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/site"
)

// sizeOf asks registries for the size of the images of an object together. If one cannot be asked, the size is unknown:
// 0. If a registry cannot be used at all, the sizes of other objects are not asked for either.
func (in *opened) sizeOf(ctx context.Context, object string, refs []string) (int64, error) {
	size, err := site.ContentSize(ctx, in.sources.Origin, refs)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err != nil {
		in.env.Warnf("the size of %s is unknown: %v", object, err)
		in.sizes = !site.Fatal(err)
		return 0, nil //nolint:nilerr // it is a warning
	}
	return size, nil
}
