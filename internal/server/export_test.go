package server

// WatchWork is watchWork.
func (m *Metrics) WatchWork(s *Server) { m.watchWork(s) }
