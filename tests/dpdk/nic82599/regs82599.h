/*
 * regs82599.h - registers and bits of the Intel 82599 that the model knows.
 *
 * Addresses and meanings are those of the "Intel 82599 10 GbE Controller Datasheet" (331520),
 * whose sections are named. Only registers that DPDK's driver reads back, or that decide where a
 * frame goes, have a name: every other register is memory.
 *
 * Units:  byte offsets from BAR 0; registers are 32 bits.
 */
#ifndef CLOCKOO_REGS82599_H
#define CLOCKOO_REGS82599_H

#define VENDOR_INTEL     0x8086u
#define DEVICE_82599_KX4 0x10f7u /* a backplane: no module to be read over I2C */
#define QUEUES_82599     128u
#define RSS_QUEUES_82599 16u
#define FIVE_TUPLES      128u
#define ETHERTYPES       8u
#define MAC_ADDRESSES    128u

/* 8.2.3.1 general control */
#define REG_CTRL         0x00000u
#define CTRL_MASTER_OFF  (1u << 2)
#define CTRL_LINK_RESET  (1u << 3)
#define CTRL_RESET       (1u << 26)
#define REG_STATUS       0x00008u
#define STATUS_MASTER_ON (1u << 19)
/* 8.2.3.2 EEPROM */
#define REG_EEC         0x10010u
#define EEC_REQUEST     (1u << 6)
#define EEC_GRANT       (1u << 7)
#define EEC_PRESENT     (1u << 8)
#define EEC_READ_DONE   (1u << 9)
#define EEC_SIZE        (2u << 11)
#define REG_EERD        0x10014u
#define EERD_DONE       (1u << 1)
#define EERD_AT         2
#define EERD_DATA       16
#define EEPROM_SUM_WORD 0x3fu
#define EEPROM_SUM      0xbabau /* of words 0..0x3f, 6.3.2.5 */
/* 8.2.3.4.5, 8.2.3.22 semaphore, management data */
#define REG_SWSM       0x10140u
#define SWSM_SEMAPHORE (1u << 0)
#define REG_MSCA       0x0425cu
#define MSCA_COMMAND   (1u << 30)
/* 8.2.3.5 interrupts */
#define REG_EICR 0x00800u
#define REG_EIMS 0x00880u
#define REG_EIMC 0x00888u
/* 8.2.3.22 link */
#define REG_AUTOC        0x042a0u
#define AUTOC_RESTART    (1u << 12)
#define AUTOC_10G_NO_AN  (1u << 13)
#define REG_ANLP1        0x042b0u
#define ANLP1_STATE      (0xfu << 16)
#define REG_LINKS        0x042a4u
#define LINKS_KX_AN_DONE (1u << 31)
#define LINKS_UP         (1u << 30)
#define LINKS_10G        (3u << 28)
/* 8.2.3.7, 8.2.3.8 receive */
#define REG_RDRXCTL       0x02f00u
#define RDRXCTL_INIT_DONE (1u << 3)
#define REG_RXCTRL        0x03000u
#define RXCTRL_ENABLE     (1u << 0)
#define REG_RXPBSIZE0     0x03c00u
#define RXPBSIZE_512K     (512u << 10)
#define REG_FCTRL         0x05080u
#define FCTRL_MULTICAST   (1u << 8)
#define FCTRL_UNICAST     (1u << 9)
#define REG_RAL           0x05400u /* 0xa200 from the seventeenth on: never used */
#define REG_RAH           0x05404u
#define RAH_VALID         (1u << 31)
/* 8.2.3.12 security: off, and so always ready */
#define REG_SECTXSTAT 0x08804u
#define REG_SECRXSTAT 0x08d04u
#define SEC_READY     (1u << 0)
/* 7.1.2, 8.2.3.7: filters */
#define REG_ETQF(i)       (0x05128u + 4 * (i))
#define ETQF_ENABLE       (1u << 31)
#define REG_ETQS(i)       (0x0ec00u + 4 * (i))
#define ETQS_ENABLE       (1u << 31)
#define ETQS_QUEUE(v)     ((v) >> 16 & 0x7f)
#define REG_SYNQF         0x0ec30u
#define SYNQF_ENABLE      (1u << 0)
#define SYNQF_FIRST       (1u << 31)
#define SYNQF_QUEUE(v)    ((v) >> 1 & 0x7f)
#define REG_SAQF(i)       (0x0e000u + 4 * (i))
#define REG_DAQF(i)       (0x0e200u + 4 * (i))
#define REG_SDPQF(i)      (0x0e400u + 4 * (i))
#define REG_FTQF(i)       (0x0e600u + 4 * (i))
#define FTQF_PROTOCOL(v)  ((v)&3)
#define FTQF_PRIORITY(v)  ((v) >> 2 & 7)
#define FTQF_NO_SRC_IP    (1u << 25)
#define FTQF_NO_DST_IP    (1u << 26)
#define FTQF_NO_SRC_PORT  (1u << 27)
#define FTQF_NO_DST_PORT  (1u << 28)
#define FTQF_NO_PROTOCOL  (1u << 29)
#define FTQF_ENABLE       (1u << 31)
#define REG_L34TIMIR(i)   (0x0e800u + 4 * (i))
#define L34TIMIR_QUEUE(v) ((v) >> 21 & 0x7f)
/* 7.1.2.7, 8.2.3.21 flow director */
#define REG_FDIRCTRL      0x0ee00u
#define FDIRCTRL_SIZE(v)  ((v)&3)
#define FDIRCTRL_DONE     (1u << 3)
#define FDIRCTRL_PERFECT  (1u << 4)
#define REG_FDIRIPSA      0x0ee18u
#define REG_FDIRIPDA      0x0ee1cu
#define REG_FDIRPORT      0x0ee20u
#define REG_FDIRHASH      0x0ee28u
#define REG_FDIRCMD       0x0ee2cu
#define FDIRCMD_WHAT(v)   ((v)&3)
#define FDIRCMD_ADD       1u
#define FDIRCMD_REMOVE    2u
#define FDIRCMD_QUERY     3u
#define FDIRCMD_VALID     (1u << 2)
#define FDIRCMD_UPDATE    (1u << 3)
#define FDIRCMD_L4(v)     ((v) >> 5 & 3) /* 1 UDP, 2 TCP, 3 SCTP */
#define FDIRCMD_IPV6      (1u << 7)
#define FDIRCMD_DROP      (1u << 9)
#define FDIRCMD_HAS_QUEUE (1u << 15)
#define FDIRCMD_QUEUE(v)  ((v) >> 16 & 0x7f)
#define REG_FDIRFREE      0x0ee38u
#define REG_FDIRDIP4M     0x0ee3cu
#define REG_FDIRSIP4M     0x0ee40u
#define REG_FDIRTCPM      0x0ee44u
#define REG_FDIRUDPM      0x0ee48u
#define REG_FDIRM         0x0ee70u
#define FDIRM_NO_L4       (1u << 3)
/* 7.1.2.8 RSS */
#define REG_MRQC      0x05818u
#define MRQC_MODE(v)  ((v)&0xf)
#define MRQC_RSS      1u
#define MRQC_TCP4     (1u << 16)
#define MRQC_IP4      (1u << 17)
#define MRQC_IP6      (1u << 20)
#define MRQC_TCP6     (1u << 21)
#define MRQC_UDP4     (1u << 22)
#define MRQC_UDP6     (1u << 23)
#define REG_RETA(i)   (0x05c00u + 4 * (i))
#define RETA_ENTRIES  128u
#define REG_RSSRK(i)  (0x05c80u + 4 * (i))
#define RSS_KEY_82599 40u
/* 8.2.3.8, 8.2.3.9 rings */
#define REG_RX(q)       ((q) < 64 ? 0x01000u + 0x40 * (q) : 0x0d000u + 0x40 * ((q)-64))
#define REG_TX(q)       (0x06000u + 0x40 * (q))
#define RING_BASE_LOW   0x00u
#define RING_BASE_HIGH  0x04u
#define RING_BYTES      0x08u
#define RING_HEAD       0x10u
#define RING_TAIL       0x18u
#define RING_CONTROL    0x28u
#define RING_ENABLE     (1u << 25)
#define REG_SRRCTL(q)   ((q) < 16 ? 0x02100u + 4 * (q) : REG_RX(q) + 0x14)
#define SRRCTL_KB(v)    ((v)&0x1f)
#define REG_DMATXCTL    0x04a80u
#define DMATXCTL_ENABLE (1u << 0)
#define REG_GPRC        0x04074u
#define REG_GPTC        0x04080u
#define REG_MPC0        0x03fa0u

#endif
