package mirror

import "context"

// publish pushes the manifests of an image, unless one of its blobs failed. An error that it
// returns ends the run; other errors are recorded for the image.
func (r *run) publish(ctx context.Context, img *image) error {
	if img.hasAttachments() {
		return r.publishUntagged(ctx, img)
	}
	err := img.err // nothing else changes it now
	if err == nil {
		err = r.putManifests(ctx, img)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.fatalWrite(err) {
		return err
	}
	r.attachmentPushed(img)
	if r.registry != nil {
		return r.confirmLater(ctx, img, err)
	}
	r.finish(img, err)
	return nil
}

// publishUntagged pushes the manifests of an image with attachments, without tags. The tags are pushed
// when the attachments were. An error that it returns ends the run.
func (r *run) publishUntagged(ctx context.Context, img *image) error {
	err := img.err // nothing else changes it now
	if err == nil {
		err = r.putUntagged(ctx, img)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.fatalWrite(err) {
		return err
	}
	attachments := img.waits.attachments
	img.mu.Lock()
	img.err, img.waits.attachments, img.untagged = err, nil, true
	if len(img.Tags) > 0 {
		img.waiting = len(attachments)
	}
	img.mu.Unlock()
	for _, a := range attachments {
		r.dependencyDone(a, nil) // a signature without its image does no harm
	}
	if len(img.Tags) > 0 {
		return nil
	}
	return r.publish(ctx, img)
}
