// Package notify tells people and other programs about incidents, over channels that may
// be slow, limited, misconfigured or dead, and loses nothing on the way.
//
// # How a notice travels
//
//	incident store ──PutTx──► outbox (SQLite) ──► one worker a channel ──► sender
//
// The store writes a [Notice] in the same transaction as the change it tells of
// ([Notifier.PutTx]), so there is no moment at which one exists without the other. Put
// routes the notice and writes one delivery row for each channel; the primary key
// (channel, notice) makes a second put of the same notice a no-op.
//
// Each channel has a worker of its own, so a dead one delays nobody else. A worker takes
// the oldest deliveries that are due, freezes them into a batch on disk (usually of one
// notice), sends it, and records the answer. Freezing before sending is what makes a
// retry after kill -9 say the same thing under the same idempotency key: the message is
// repeated only when its acknowledgement was lost, and the receiver can tell.
//
// Order is kept within an incident. Notices of other incidents overtake one that the
// receiver refuses, but nothing overtakes on a channel that does not answer.
//
// # Answers
//
// A sender reports one of four outcomes (failure.go): delivered; try the channel again
// later (network, 5xx, rate limits with the wait that the service asked for); the channel
// is set up wrongly (credentials, address), tried again too, since the operator can
// correct a secret file under a running daemon; or this one message is refused, which
// gives it up after a few attempts. The chat services of China answer HTTP 200 with the
// error in the body; their files know the codes.
//
// # Secrets
//
// Configuration holds the names of files and environment variables, never a secret. They
// are read again for each message, so rotation needs no restart. Whatever is logged or
// stored as an error goes through a scrubber that knows the secrets of that message, and
// no request with a secret follows a redirect.
//
// # Sources
//
//   - Alertmanager API v2: https://prometheus.io/docs/alerting/latest/alerts_api/,
//     https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
//   - Slack incoming webhooks: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks,
//     limits: https://docs.slack.dev/apis/web-api/rate-limits
//   - Feishu custom bot: https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot,
//     gateway limits: https://open.feishu.cn/document/server-docs/api-call-guide/frequency-control
//   - DingTalk custom robot: https://open.dingtalk.com/document/robots/custom-robot-access
//   - WeCom group robot: https://developer.work.weixin.qq.com/document/path/91770
//   - SMTP: RFC 5321, STARTTLS: RFC 3207, AUTH: RFC 4954, automatic mail: RFC 3834
//   - Idempotency key: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
//
// # Not done
//
// No templates: a text that an operator can break is broken in the night when it matters;
// the webhook and the exec hook give all fields to who wants another text. No paging
// services: they accept webhooks or Alertmanager.
package notify
