package workspace

// DeltaCache is the folder for deltas in the cache.
const DeltaCache = "deltas"
